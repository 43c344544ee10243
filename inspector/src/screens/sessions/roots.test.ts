import { expect, test } from "vitest";
import { Roots } from "./roots.ts";

const branches = [
  { id: "twig", parent: "fork" },
  { id: "lost", parent: "older" },
  { id: "fork", parent: "root" },
  { id: "root" },
  { id: "other" },
];

test("a branch is followed to its root, once; what is no session is passed over", async () => {
  let asked = 0;
  const roots = new Roots(async () => {
    asked++;
    return branches;
  });
  expect([...(await roots.of(new Set(["twig", "lost", "answers", "other"])))].sort()).toEqual(["other", "root"]);
  expect([...(await roots.of(new Set(["fork", "twig", "root"])))]).toEqual(["root"]);
  expect(asked).toBe(1);
});

test("branches that a root was read with are not asked for, and what continues them is found by them", async () => {
  const alone = new Roots(() => Promise.reject(new Error("asked")));
  alone.learn("root", ["fork"]);
  expect([...(await alone.of(new Set(["fork", "root", "new"])))]).toEqual(["root"]);
  const roots = new Roots(async () => [{ id: "new", parent: "fork" }]);
  roots.learn("root", ["fork"]);
  expect([...(await roots.of(new Set(["new"])))]).toEqual(["root"]);
});
