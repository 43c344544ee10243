/** What all kinds of checkouts have to keep: the files are those of the tree, and a scan sees exactly what commands did. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { Checkout, CheckoutKind } from "./checkout.ts";
import { checkouts } from "./checkouts.ts";
import { bootId, machine } from "./machine.ts";
import { ObjectMap } from "./objects.ts";
import { restore } from "./restore.ts";
import { snapshot } from "./snapshot.ts";
import { spawner } from "./spawner.ts";
import { type Directory, type Entry, emptyTree, sorted, Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-checkouts-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }), 60_000);
let made = 0;
const fresh = () => join(scratch, `d${made++}`);
const trees = new Trees(new ObjectMap());

async function run(checkout: { readonly directory: string; readonly inside?: Checkout["inside"] }, script: string) {
  let output = "";
  const { inside } = checkout;
  const argv = ["bash", "-c", `cd "$0" && { ${script}\n}`, inside?.directory ?? checkout.directory];
  const spawned = await spawner().spawn({
    argv: [...(inside?.enter ?? []), ...argv],
    env: { PATH: "/usr/bin:/bin" },
    onOutput: (_, bytes) => {
      output += Buffer.from(bytes).toString();
    },
  });
  return { ...(await spawned.exited), output };
}

/** The tree of a directory that a script makes, by other means than a checkout. */
async function treeOf(script: string, before = emptyTree): Promise<string> {
  const directory = fresh();
  mkdirSync(directory);
  await restore(trees, directory, emptyTree, before);
  const { code, output } = await run({ directory }, script);
  if (code !== 0) throw new Error(output);
  return (await snapshot(trees, directory, { own: true, before })).tree;
}

const start = `mkdir -p src/deep/er empty; echo one > src/a; echo two > src/b; echo three > src/deep/c; echo four > src/deep/er/d
  ln -s a src/link; ln -s /etc/passwd outside; chmod 755 src/b; mkfifo src/pipe; printf x > "$(printf 'odd\\377name')"; echo big > top`;

const commands: Readonly<Record<string, string>> = {
  nothing: "true",
  reading: "cat src/a src/deep/c > /dev/null; ls -lR > /dev/null",
  add: "echo new > src/new; echo deep > src/deep/er/new",
  edit: "echo other > src/a; sed -i s/four/five/ src/deep/er/d",
  "edit of the same size with the old time":
    "touch -r src/a /tmp/stamp-$$; echo ONE > src/a; touch -r /tmp/stamp-$$ src/a; rm /tmp/stamp-$$",
  append: "echo more >> src/b",
  delete: "rm src/a src/link; rmdir empty",
  "delete a directory": "rm -rf src/deep",
  "another directory in its place": "rm -rf src/deep && mkdir src/deep && echo z > src/deep/z",
  "the same directory in its place": "cp -a src/deep keep && rm -rf src/deep && mv keep src/deep",
  "rename a directory": "mv src/deep src/moved",
  "rename a directory over another": "mkdir t && mv t/ src/t && mv src/deep src/t/ && mv empty src/deep",
  "rename a file": "mv src/a src/z; mv src/b src/a",
  chmod: "chmod 600 src/a; chmod 711 src/deep; chmod 000 src/b",
  links: "ln -s ../top src/up; ln -sfn b src/link; rm outside; ln -s nowhere outside",
  fifo: "mkfifo src/other; rm src/pipe",
  "hard link": "ln src/a src/hard; echo through >> src/hard",
  "file becomes directory": "rm src/a && mkdir src/a && echo in > src/a/in",
  "directory becomes file": "rm -rf src/deep && echo file > src/deep",
  "directory becomes link": "rm -rf src/deep && ln -s /etc src/deep",
  "link becomes directory": "rm src/link && mkdir src/link && echo a > src/link/passwd",
  "odd names": `printf y > "$(printf '\\200\\201')"; echo > $'new\\nline'; echo > ./-rf; echo > '.wh.a'; echo > '.wh..wh..opq'; rm "$(printf 'odd\\377name')"`,
  "everything goes": "rm -rf ./* ./.[!.]*",
  "there and back": "echo x > src/new; rm src/new; mv src/a q; mv q src/a",
};

async function entriesOf(tree: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { path, entry } of trees.walk(tree)) found.push(`${path} ${JSON.stringify(entry)}`);
  return found;
}

const kinds: readonly CheckoutKind[] = ["overlay", "reflink", "copy"];
const others = (kind: CheckoutKind) => kinds.slice(0, kinds.indexOf(kind));

describe.each(kinds)("%s", async (kind) => {
  const home = fresh();
  const places = checkouts(home, { without: others(kind) });
  const works = (await places.kind({ plain: false })) === kind;
  if (!works) console.log(`skipped: this file system or system has no ${kind}`);
  afterAll(() => places[Symbol.asyncDispose](), 60_000);
  let opened = 0;
  const open = (tree: string) => places.open(trees, tree, { id: `s${opened++}`, plain: false, network: false });

  test.skipIf(!works)("a scan sees exactly what a command did", async () => {
    const tree = await treeOf(start);
    for (const [what, script] of Object.entries(commands)) {
      await using checkout = await open(tree);
      expect(checkout.kind).toBe(kind);
      expect(await checkout.scan(trees), what).toBe(tree);
      expect(await run(checkout, script), what).toMatchObject({ code: 0 });
      expect(await entriesOf(await checkout.scan(trees)), what).toEqual(await entriesOf(await treeOf(script, tree)));
      await checkout.sync(trees, tree);
      expect(await checkout.scan(trees), what).toBe(tree);
      // Also when nobody looked at what was done in between.
      await run(checkout, script);
      await checkout.sync(trees, tree);
      expect(await checkout.scan(trees), what).toBe(tree);
    }
  });

  test.skipIf(!works)("commands one after another are seen one by one", async () => {
    let tree = await treeOf(start);
    await using checkout = await open(tree);
    for (const script of [
      "mv src/deep moved",
      "mkdir src/deep; echo 1 > src/deep/er",
      "rm -rf src",
      "mkdir src; mv moved src/deep; echo q > src/a",
    ]) {
      await run(checkout, script);
      tree = await treeOf(script, tree);
      expect(await checkout.scan(trees), script).toBe(tree);
      expect(checkout.tree).toBe(tree);
    }
  });

  test.skipIf(!works)("it can be brought from any tree to any other", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(directory, { minLength: 2, maxLength: 4 }), async (described) => {
        const [first, ...rest] = await Promise.all(described.map(store));
        await using checkout = await open(first as string);
        for (const tree of [first as string, ...rest, first as string]) {
          await checkout.sync(trees, tree);
          expect(await entriesOf(await checkout.scan(trees))).toEqual(await entriesOf(tree));
          expect((await snapshot(trees, checkout.directory, { own: true, before: tree })).tree).toBe(tree);
        }
      }),
      { numRuns: 25 },
    );
  });

  test.skipIf(!works)("what is not kept is seen to come and to go", async () => {
    const tree = await treeOf(start);
    const apart = checkouts(fresh(), { without: others(kind), scan: { limits: { file: 1000 } } });
    await using checkout = await apart.open(trees, tree, { id: "one", plain: false, network: false });
    const socket = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("src/socket")) or die $!'`;
    expect(await run(checkout, `head -c 2000 /dev/zero > src/large; ${socket}`)).toMatchObject({ code: 0 });
    const full = await checkout.scan(trees);
    expect((await trees.entry(full, "src/large"))?.type).toBe("withheld");
    expect((await trees.entry(full, "src/socket"))?.type).toBe("socket");
    await checkout.sync(trees, full);
    await run(checkout, "rm src/large src/socket");
    expect(await checkout.scan(trees)).toBe(tree);
    // On another way back to it they are only on record, and stay there.
    await checkout.sync(trees, full);
    await run(checkout, "touch src/other; rm src/other");
    expect(await checkout.scan(trees)).toBe(full);
    await apart[Symbol.asyncDispose]();
  });

  test.skipIf(!works)("what cannot be made is as the tree has it, whatever the base had", async () => {
    const plain = await store({ c: { b: { a: "one" } }, a: "two" });
    const withheld = await store({ c: { b: { a: "one", c: { type: "withheld", why: "secret", size: 3 } } }, a: "two" });
    for (const [base, tree] of [[plain, withheld] as const, [withheld, plain] as const]) {
      const apart = checkouts(fresh(), { without: others(kind) });
      await using checkout = await apart.open(trees, base, { id: "one", plain: false, network: false });
      await checkout.sync(trees, tree);
      expect(await entriesOf(await checkout.scan(trees))).toEqual(await entriesOf(tree));
      await run(checkout, "echo new > c/new");
      expect(await entriesOf(await checkout.scan(trees))).toEqual(
        await entriesOf(await trees.with(tree, "c/new", await trees.entry(await treeOf("echo new > new"), "new"))),
      );
    }
  });

  test.skipIf(!works)("two over one base do not see each other, and the base stays as it is", async () => {
    const tree = await treeOf(start);
    await using a = await open(tree);
    await using b = await open(tree);
    await run(a, "echo from-a > src/a; rm -rf src/deep; echo > only-a");
    await run(b, "echo from-b > src/a; chmod 700 src/deep");
    expect(readFileSync(join(a.directory, "src/a"), "utf8")).toBe("from-a\n");
    expect(readFileSync(join(b.directory, "src/a"), "utf8")).toBe("from-b\n");
    expect(readdirSync(b.directory)).not.toContain("only-a");
    const bases = join(home, "bases", bootId());
    for (const base of readdirSync(bases)) expect((await snapshot(trees, join(bases, base), { own: true, before: base })).tree).toBe(base);
  });

  test.skipIf(!works)("what was written is counted, empty files too, and not what was brought", async () => {
    const tree = await treeOf(`${start}; head -c 300000 /dev/zero > zeros`);
    await using checkout = await open(tree);
    expect(await checkout.written()).toBe(0);
    await run(checkout, "head -c 1000000 /dev/urandom > src/large");
    // It is asked again and again, and may be of a moment ago.
    await expect.poll(() => checkout.written(), { timeout: 10_000 }).toBeGreaterThanOrEqual(1_000_000);
    await run(checkout, "mkdir many; for i in $(seq 500); do > many/$i; done");
    await expect.poll(() => checkout.written(), { timeout: 10_000 }).toBeGreaterThanOrEqual(1_000_000 + 500 * 4096);
    await checkout.sync(trees, tree);
    expect(await checkout.written()).toBe(0);
  });

  test.skipIf(!works)("disposing of it leaves nothing but the base", async () => {
    const checkout = await open(await treeOf(start));
    await run(checkout, "mkdir -p locked/in; chmod 0 locked; chmod 555 src");
    await checkout[Symbol.asyncDispose]();
    expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });
});

test("an overlay copies nothing of its base for a tree that is near, and makes another base for one that is far", async () => {
  const home = fresh();
  await using places = checkouts(home, { near: { entries: 20, bytes: 1000 } });
  if ((await places.kind({ plain: false })) !== "overlay") return console.log("skipped: no overlay here");
  const tree = await treeOf("for i in $(seq 40); do echo $i > f$i; done");
  const close = await treeOf("echo other > f7; rm f8", tree);
  const far = await treeOf("for i in $(seq 30); do echo x$i > f$i; done", tree);
  const options = { plain: false, network: false };
  await using first = await places.open(trees, tree, { id: "a", ...options });
  await using second = await places.open(trees, close, { id: "b", ...options });
  expect(readdirSync(join(home, "bases", bootId()))).toEqual([tree]);
  expect(readdirSync(join(home, "sandboxes/b/upper")).sort()).toEqual(["f7", "f8"]);
  expect(await second.scan(trees)).toBe(close);
  await using third = await places.open(trees, far, { id: "c", ...options });
  expect(readdirSync(join(home, "bases", bootId())).sort()).toEqual([tree, far].sort());
  expect(readdirSync(join(home, "sandboxes/c/upper"))).toEqual([]);
  expect([await first.scan(trees), await third.scan(trees)]).toEqual([tree, far]);
});

test("plain checkouts are ordinary directories, of which nothing is in a namespace", async () => {
  await using places = checkouts(fresh());
  expect(await places.kind({ plain: true })).not.toBe("overlay");
  const tree = await treeOf(start);
  await using checkout = await places.open(trees, tree, { id: "p", plain: true, network: true });
  expect(checkout.inside).toBeUndefined();
  expect(readFileSync(join(checkout.directory, "src/a"), "utf8")).toBe("one\n");
});

test("a base is copied from the user's directory, without what the tree does not name, and is right although files changed", async () => {
  const user = fresh();
  mkdirSync(user);
  await run({ directory: user }, `${start}; chmod 4755 src/b`);
  const { tree } = await snapshot(trees, user);
  // The contents are not in this store: only the user's directory has them.
  const poor = new ObjectMap();
  for (const [name, bytes] of (trees.objects as ObjectMap).map)
    if (Buffer.from(bytes).toString("latin1").startsWith("openrath tree") || Buffer.from(bytes).toString() === "one\n")
      poor.map.set(name, bytes);
  await run(
    { directory: user },
    "echo secret > .env; mkdir -p src/node_modules/x; echo m > src/node_modules/x/y; echo changed > src/a; rmdir empty; chmod 700 src/deep",
  );
  const home = fresh();
  await using places = checkouts(home, { without: ["overlay"] });
  await using checkout = await places.open(new Trees(poor), tree, { id: "u", plain: false, network: false, from: user });
  expect(await entriesOf((await snapshot(trees, checkout.directory)).tree)).toEqual(await entriesOf(tree));
  const base = join(home, "bases", bootId(), tree);
  expect(await entriesOf((await snapshot(trees, base)).tree)).toEqual(await entriesOf(tree));
  expect(statSync(join(checkout.directory, "src/b")).mode & 0o7777).toBe(0o755);
  expect([...poor.map.keys()].length).toBeLessThan((trees.objects as ObjectMap).map.size);
});

/** Trees of a few names, so that they often meet. */
type Described = { readonly [name: string]: Described | Entry | string };
const leaf = fc.oneof(
  fc.constantFrom("one", "two", ""),
  fc.constantFrom<Entry>(
    { type: "link", target: "a" },
    { type: "fifo" },
    { type: "socket" },
    { type: "device" },
    { type: "withheld", why: "secret", size: 3 },
    { type: "withheld", why: "size", size: 9 },
  ),
);
const { directory } = fc.letrec<{ directory: Described }>((tie) => ({
  directory: fc.dictionary(fc.constantFrom("a", "b", "c", "\udcff"), fc.oneof({ maxDepth: 3 }, leaf, tie("directory") as never), {
    maxKeys: 4,
  }) as never,
}));

async function store(described: Described): Promise<string> {
  const entries = new Map<string, Entry>();
  for (const [name, value] of Object.entries(described)) {
    const mode = name === "b" ? 0o755 : 0o644;
    if (typeof value === "string") {
      entries.set(name, { type: "file", mode, size: value.length, hash: await trees.objects.put(Buffer.from(value)) });
    } else if (typeof value["type"] === "string" && !("hash" in value) && isLeaf(value as Entry)) entries.set(name, value as Entry);
    else entries.set(name, { type: "directory", mode: name === "c" ? 0o700 : 0o755, hash: await store(value as Described) });
  }
  return trees.store(sorted(entries) as Directory);
}
const isLeaf = ({ type }: Entry) => ["link", "fifo", "socket", "device", "withheld"].includes(type);

test("bases that nobody uses are thrown away, all but the newest, and those in use stay", async () => {
  const home = fresh();
  await using places = checkouts(home, { near: { entries: 0, bytes: 0 } });
  const bases = () => readdirSync(join(home, "bases", bootId()));
  const first = await treeOf("echo first > file");
  await using held = await places.open(trees, first, { id: "held", plain: false, network: false });
  const later: string[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const tree = await treeOf(`echo ${turn} > file`);
    later.push(tree);
    await using checkout = await places.open(trees, tree, { id: `t${turn}`, plain: false, network: false });
    expect(await checkout.scan(trees)).toBe(tree);
  }
  await expect.poll(() => bases().sort()).toEqual([first, ...later.slice(-3)].sort());
  expect(await held.scan(trees)).toBe(first);
  // What an earlier start of the machine or a dead process left is not even looked at.
  mkdirSync(join(home, "bases/another-start", first), { recursive: true });
  mkdirSync(join(home, "bases", bootId(), `.making-1999999999.1.x@${encodeURIComponent(machine())}`));
  await using others = checkouts(home);
  await others.kind({ plain: true });
  await expect.poll(() => [readdirSync(join(home, "bases")), bases().length]).toEqual([[bootId()], 4]);
});
