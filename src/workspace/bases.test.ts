import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Bases } from "./bases.ts";
import { leftovers } from "./leftovers.ts";
import { bootId, machine } from "./machine.ts";
import { ownName } from "./owner.ts";

let home: string;
let bases: Bases;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "openrath-bases-"));
  bases = new Bases(home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const tree = "ab".repeat(32);
const hour = 3_600_000;
const make = (boot: string, name = tree) => mkdirSync(join(home, "bases", boot, name), { recursive: true });
const checkout = (id: string, host: string, boot: string) => {
  mkdirSync(join(home, "sandboxes", id), { recursive: true });
  writeFileSync(join(home, "sandboxes", id, "owner.json"), JSON.stringify({ pid: 1, host, boot, started: "1", base: tree }));
};
const boots = () => readdirSync(join(home, "bases")).sort();
const listed = async () => (await leftovers(home, 0)).filter(({ kind }) => kind === "base").map(({ id }) => id);

test("bases of another machine stay while one of its checkouts names their start", async () => {
  make("start-of-another");
  make("start-long-ago");
  checkout("theirs", "another", "start-of-another");
  checkout("ours", machine(), "start-long-ago");
  expect(await listed()).toEqual(["start-long-ago"]);
  await bases.pruneUnfinished();
  expect(boots()).toEqual(["start-of-another"]);
  rmSync(join(home, "sandboxes"), { recursive: true });
  expect(await listed()).toEqual(["start-of-another"]);
  await bases.pruneUnfinished();
  expect(boots()).toEqual([]);
});

test("a checkout that another machine opened long ago holds nothing any more", async () => {
  make("start-of-another");
  mkdirSync(join(home, "sandboxes/theirs"), { recursive: true });
  const opened = new Date().toISOString();
  writeFileSync(
    join(home, "sandboxes/theirs/owner.json"),
    JSON.stringify({ pid: 1, host: "another", boot: "start-of-another", started: "1", opened }),
  );
  await bases.pruneUnfinished(Date.now() + 29 * 24 * hour);
  expect(boots()).toEqual(["start-of-another"]);
  await bases.pruneUnfinished(Date.now() + 31 * 24 * hour);
  expect(boots()).toEqual([]);
});

test("what another machine makes stays for a day, at whichever start", async () => {
  for (const boot of ["start-of-another", bootId()]) make(boot, ".making-1999999999.1.x@another");
  await bases.pruneUnfinished(Date.now() + 23 * hour);
  expect(boots().flatMap((boot) => readdirSync(join(home, "bases", boot)))).toHaveLength(2);
  await bases.pruneUnfinished(Date.now() + 25 * hour);
  expect(boots().flatMap((boot) => readdirSync(join(home, "bases", boot)))).toEqual([]);
});

test("what a dead process of this machine made goes at once, and that of a living one stays", async () => {
  const host = encodeURIComponent(machine());
  const living = `.making-${ownName()}`;
  for (const name of [living, `.making-1999999999.1.x@${host}`, `.making-${process.pid}.1.x@${host}`]) make(bootId(), name);
  await bases.pruneUnfinished(Date.now() + 25 * hour);
  expect(readdirSync(join(home, "bases", bootId()))).toEqual([living]);
});

test("names without a machine, as they were once given, are old after a day", async () => {
  make(bootId(), `.making-${process.pid}-x`);
  await bases.pruneUnfinished(Date.now() + 23 * hour);
  expect(existsSync(join(home, "bases", bootId(), `.making-${process.pid}-x`))).toBe(true);
  await bases.pruneUnfinished(Date.now() + 25 * hour);
  expect(readdirSync(join(home, "bases", bootId()))).toEqual([]);
});
