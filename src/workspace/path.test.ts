/** Paths stay inside the workspace, whatever links and dots say. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linkTo, type TreeModel, treeFrom } from "../testing/tree-model.ts";
import { ObjectMap } from "./objects.ts";
import { normalPath, resolvePath } from "./path.ts";
import { Trees } from "./tree.ts";

const code = (value: string) => expect.objectContaining({ code: value });

describe("a path that somebody gives", () => {
  test.each([
    ["", ""],
    [".", ""],
    ["a/./b//c/", "a/b/c"],
    ["a/../b", "b"],
    ["/workspace", ""],
    ["//workspace/./a", "a"],
    ["/workspace/a/..", ""],
    ["...", "..."],
    [" ", " "],
    ["\udcff", "\udcff"],
    ["\udcc3\udca9", "é"],
  ])("%j is %j", (given, path) => {
    expect(normalPath(given)).toBe(path);
    expect(normalPath(path)).toBe(path);
  });

  test.each(["..", "a/../..", "a/../../workspace/a", "/", "/etc/passwd", "/workspaces/a", "/workspace/../workspace/a", "/workspace/.."])(
    "%j is outside",
    (given) => {
      expect(() => normalPath(given)).toThrow(code("sandbox.outside"));
      expect(() => normalPath(given)).toThrow(/under \/workspace\//);
    },
  );

  test.each(["a\0b", "\ud800", "a\udc00"])("%j is no path", (given) => expect(() => normalPath(given)).toThrow(code("workspace.invalid")));

  test("a random path is refused or stays inside, and is then its own normal form", () => {
    const step = fc.constantFrom("..", ".", "", "a", "workspace", "/workspace", "\\..", "~");
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        let path: string;
        try {
          path = normalPath(steps.join("/"));
        } catch (error) {
          expect(error).toEqual(code("sandbox.outside"));
          return;
        }
        expect(path.split("/").some((name) => name === ".." || name === ".")).toBe(false);
        expect(path.startsWith("/")).toBe(false);
        expect(normalPath(path)).toBe(path);
      }),
    );
  });
});

describe("links", () => {
  const files: TreeModel = {
    "src/main.ts": "main",
    "src/deep/file": "deep",
    "src/up": linkTo("../README"),
    "src/deep/far": linkTo("/workspace/README"),
    README: "read",
    code: linkTo("src"),
    absolute: linkTo("/workspace/src//deep/."),
    root: linkTo("/workspace/"),
    chain: linkTo("code/up"),
    dangling: linkTo("src/new/file"),
    file: linkTo("README/"),
    host: linkTo("/etc/passwd"),
    above: linkTo("../x"),
    sneaky: linkTo("src/../../workspace/README"),
    loop: linkTo("pool"),
    pool: linkTo("loop"),
    nothing: linkTo(""),
    ghost: linkTo("nowhere/../README"),
  };
  const made = (async () => {
    const trees = new Trees(new ObjectMap());
    return { trees, tree: await treeFrom(trees, files) };
  })();
  const resolve = async (path: string, options?: { followLast?: boolean }) => {
    const { trees, tree } = await made;
    return resolvePath(trees, tree, path, options);
  };

  test.each([
    ["src/main.ts", "src/main.ts"],
    ["code/main.ts", "src/main.ts"],
    ["chain", "README"],
    ["absolute/file", "src/deep/file"],
    ["root/code/up", "README"],
    ["root", ""],
    ["src/deep/far", "README"],
    ["", ""],
    ["/workspace/code/deep", "src/deep"],
  ])("%j leads to %j", async (given, path) => expect((await resolve(given)).path).toBe(path));

  test.each([
    ["host", "sandbox.outside"],
    ["host/x", "sandbox.outside"],
    ["above", "sandbox.outside"],
    ["sneaky", "sandbox.outside"],
    ["loop", "workspace.invalid"],
    ["loop/x", "workspace.invalid"],
    ["file", "workspace.invalid"],
    ["README/x", "workspace.invalid"],
    ["nothing", "workspace.not-found"],
    ["ghost", "workspace.not-found"],
    ["dangling", "workspace.not-found"],
  ])("%j is refused with %s", async (given, reason) => expect(resolve(given)).rejects.toEqual(code(reason)));

  test("the last link is left alone when asked, the others are followed", async () => {
    expect(await resolve("code/up", { followLast: false })).toEqual({ path: "src/up", entry: linkTo("../README") });
    expect(await resolve("host", { followLast: false })).toEqual({ path: "host", entry: linkTo("/etc/passwd") });
  });

  test("what does not exist yet is found by where it would be", async () => {
    const { trees, tree } = await made;
    const missing = async (path: string) => (await resolvePath(trees, tree, path, { missing: true })).path;
    expect(await missing("code/new/a")).toBe("src/new/a");
    expect(await missing("dangling")).toBe("src/new/file");
    expect(await missing("dangling/more")).toBe("src/new/file/more");
    await expect(missing("ghost")).rejects.toEqual(code("workspace.not-found"));
    await expect(missing("above")).rejects.toEqual(code("sandbox.outside"));
    await expect(missing("README/x")).rejects.toEqual(code("workspace.invalid"));
  });

  test("forty links are followed, one more is a circle", async () => {
    const trees = new Trees(new ObjectMap());
    const chain: Record<string, TreeModel[string]> = { l0: "end" };
    for (let i = 1; i <= 41; i++) chain[`l${i}`] = linkTo(`l${i - 1}`);
    const tree = await treeFrom(trees, chain);
    expect((await resolvePath(trees, tree, "l40")).path).toBe("l0");
    await expect(resolvePath(trees, tree, "l41")).rejects.toEqual(code("workspace.invalid"));
  });
});

test("a missing file names its neighbours", async () => {
  const trees = new Trees(new ObjectMap());
  const tree = await treeFrom(trees, { "src/Main.ts": "", "src/other.ts": "" });
  await expect(resolvePath(trees, tree, "src/main.ts")).rejects.toThrow(
    'Nothing is at "src/main.ts" in the workspace. Near it: "Main.ts".',
  );
  await expect(resolvePath(trees, tree, "scr/main.ts")).rejects.toThrow('("scr" does not exist). Near it: "src".');
});

test("links lead where the kernel says", async () => {
  const root = realpathSync(mkdtempSync(`${tmpdir()}/openrath-path-`));
  const target = fc.array(fc.constantFrom("a", "b", "c", ".", "..", ""), { minLength: 1, maxLength: 4 }).map((steps) => steps.join("/"));
  const relative = target.filter((text) => !text.startsWith("/") && text !== "");
  const spot = fc.constantFrom("a", "b", "c", "a/a", "a/b", "b/a", "b/c");
  try {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(spot, fc.option(relative)), { selector: ([at]) => at, maxLength: 6 }),
        spot,
        async (pairs, asked) => {
          const model: Record<string, TreeModel[string]> = {};
          for (const [at, link] of pairs)
            if (!pairs.some(([other]) => other.startsWith(`${at}/`))) model[at] = link === null ? "file" : linkTo(link);
          const base = `${root}/${run++}/workspace`;
          for (const [at, link] of pairs) {
            if (!(at in model)) continue;
            mkdirSync(dirname(`${base}/${at}`), { recursive: true });
            if (link === null) writeFileSync(`${base}/${at}`, "");
            else symlinkSync(link, `${base}/${at}`);
          }
          mkdirSync(base, { recursive: true });
          const trees = new Trees(new ObjectMap());
          const ours = await resolvePath(trees, await treeFrom(trees, model), asked).then(
            ({ path }) => path,
            (error) => (error as { code: string }).code,
          );
          // Out of the workspace the kernel goes on; we stop.
          if (ours === "sandbox.outside") return;
          expect(ours).toBe(kernel(base, asked));
        },
      ),
      { numRuns: 300 },
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});

function kernel(base: string, path: string): string {
  try {
    return realpathSync.native(`${base}/${path}`).slice(base.length + 1);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "workspace.not-found" : "workspace.invalid";
  }
}
