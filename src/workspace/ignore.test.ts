/** What is not recorded of a user's directory, by default and by their rules. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { Ignore } from "./ignore.ts";
import { ObjectMap } from "./objects.ts";
import { snapshot } from "./snapshot.ts";
import { Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-ignore-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let made = 0;
function directoryWith(files: Readonly<Record<string, string>>): string {
  const directory = join(scratch, `d${made++}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

describe("by default", () => {
  const ignore = new Ignore();

  test("installed packages are layers, as directories alone", () => {
    for (const path of [
      "node_modules",
      "packages/a/node_modules",
      ".venv",
      "venv",
      "vendor/bundle",
      "app/vendor/bundle",
      ".gradle",
      "Pods",
    ])
      expect([path, ignore.verdict(path, true)]).toEqual([path, "layer"]);
    for (const path of ["target", "dist", "vendor", "notvendor/bundle", ".git", "env"])
      expect([path, ignore.verdict(path, true)]).toEqual([path, "keep"]);
    expect(ignore.verdict("node_modules", false)).toBe("keep");
  });

  test("files that usually hold secrets are hidden", () => {
    const hidden = [
      ".env",
      "a/.env",
      ".env.local",
      ".ENV",
      ".env.production",
      "x.pem",
      "tls/server.key",
      "id_rsa",
      "id_ed25519.bak",
      ".npmrc",
      ".netrc",
    ];
    for (const path of [...hidden, "a/.docker/config.json", ".git-credentials", "k.p12"])
      expect([path, ignore.verdict(path, false)]).toEqual([path, "hide"]);
    for (const path of [".aws", ".ssh", "home/.gnupg", ".openrath", ".kube"])
      expect([path, ignore.verdict(path, true)]).toEqual([path, "hide"]);
  });

  test("what only looks like them is kept", () => {
    const kept = [
      ".env.example",
      ".env.sample",
      ".env.local.example",
      "env.ts",
      "id_rsa_parser.ts",
      "key.ts",
      ".gitignore",
      ".openrathignore",
      "monkey",
    ];
    for (const path of kept) expect([path, ignore.verdict(path, false)]).toEqual([path, "keep"]);
  });
});

describe("rules of the user", () => {
  test("hide, and bring back what is hidden by default", () => {
    const ignore = new Ignore("# generated\n/dist/\n*.log\n!keep.log\n!.env.local\n!node_modules/\n");
    expect(ignore.verdict("dist", true)).toBe("hide");
    expect(ignore.verdict("src/dist", true)).toBe("keep");
    expect(ignore.verdict("a/b.log", false)).toBe("hide");
    expect(ignore.verdict("a/keep.log", false)).toBe("keep");
    expect(ignore.verdict(".env.local", false)).toBe("keep");
    expect(ignore.verdict(".env", false)).toBe("hide");
    expect(ignore.verdict("node_modules", true)).toBe("keep");
    expect(ignore.verdict("node_modules/x/.npmrc", false)).toBe("hide");
  });

  test("hide a layer when they list it", () => {
    expect(new Ignore("node_modules").verdict("node_modules", true)).toBe("hide");
  });

  test("take any name", () => {
    const ignore = new Ignore("*.tmp");
    for (const path of ["new\nline", "-rf", "..a", "...", "\udcff", "a\\b", "~", " "]) {
      expect([path, ignore.verdict(path, false)]).toEqual([path, "keep"]);
      expect([path, ignore.verdict(`${path}.tmp`, false)]).toEqual([path, "hide"]);
    }
  });

  test("are read from the root, and not through a link", async () => {
    const directory = directoryWith({ ".openrathignore": "private/\n", "private/x": "x", "a/.openrathignore": "*\n", "a/b": "b" });
    const trees = new Trees(new ObjectMap());
    const { tree } = await snapshot(trees, directory, { ignore: Ignore.read(directory) });
    const paths: string[] = [];
    for await (const { path } of trees.walk(tree)) paths.push(path);
    expect(paths).toEqual([".openrathignore", "a", "a/.openrathignore", "a/b"]);
    rmSync(join(directory, ".openrathignore"));
    expect(Ignore.read(directory).verdict("private", true)).toBe("keep");
    symlinkSync("a/.openrathignore", join(directory, ".openrathignore"));
    expect(() => Ignore.read(directory)).toThrow(expect.toSatisfy((error: unknown) => RathError.is(error, "workspace.invalid")));
    rmSync(join(directory, ".openrathignore"));
    mkdirSync(join(directory, ".openrathignore"));
    expect(() => Ignore.read(directory)).toThrow(expect.toSatisfy((error: unknown) => RathError.is(error, "workspace.invalid")));
  });
});

test("a snapshot leaves out what is hidden and names the layers", async () => {
  const directory = directoryWith({
    "node_modules/x/index.js": "x",
    "web/node_modules/y": "y",
    ".env": "TOKEN=1",
    ".git/HEAD": "ref",
    "a.ts": "a",
  });
  const trees = new Trees(new ObjectMap());
  const { tree, layers, files } = await snapshot(trees, directory, { ignore: Ignore.read(directory) });
  expect(layers).toEqual(["node_modules", "web/node_modules"]);
  expect(files).toBe(2);
  expect([...(await trees.directory(tree)).keys()]).toEqual([".git", "a.ts", "web"]);
});
