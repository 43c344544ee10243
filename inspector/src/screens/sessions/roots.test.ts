import { expect, test } from "vitest";
import { Roots } from "./roots.ts";

const parents: Readonly<Record<string, string | undefined>> = { root: undefined, fork: "root", twig: "fork", other: undefined };

test("a branch is followed to its root, once; one that cannot be asked for keeps nobody from the others", async () => {
  const asked: string[] = [];
  const roots = new Roots(async (id) => {
    asked.push(id);
    if (!(id in parents)) throw new Error("gone");
    return parents[id];
  });
  expect([...(await roots.of(["twig", "gone", "other"]))].sort()).toEqual(["other", "root"]);
  expect(asked.sort()).toEqual(["fork", "gone", "other", "root", "twig"]);
  expect([...(await roots.of(["fork", "twig", "root"]))]).toEqual(["root"]);
  expect(asked).toHaveLength(5);
});

test("branches that a root was read with are not asked for", async () => {
  const roots = new Roots(() => Promise.reject(new Error("asked")));
  roots.learn("root", ["fork"]);
  expect([...(await roots.of(["fork", "root"]))]).toEqual(["root"]);
});
