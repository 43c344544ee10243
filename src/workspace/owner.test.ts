import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { machine } from "./machine.ts";
import { leftTrash, trashPlace } from "./owner.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "openrath-owner-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const hour = 3_600_000;
const left = async (now?: number) => (await leftTrash(home, now)).map((path) => basename(path)).sort();

test("trash of processes that are gone is left, of this machine at once and of others after a day", async () => {
  const host = encodeURIComponent(machine());
  const own = basename(trashPlace(home));
  const again = own.replace(/^(\d+)\.\d*\./, "$1.1.");
  const names = { own, again, dead: `1999999999.1.x@${host}`, other: `${process.pid}.1.x@another`, old: `${process.pid}-x` };
  for (const name of Object.values(names)) mkdirSync(join(home, "trash", name), { recursive: true });
  // A number that was given again to this process is of another one.
  expect(await left()).toEqual([names.dead, names.again].sort());
  expect(await left(Date.now() + 25 * hour)).toEqual([names.dead, names.again, names.other, names.old].sort());
});

test("the name of a machine is part of a path, whatever it holds", () => {
  expect(basename(trashPlace(home))).toMatch(/^\d+\.\d*\.\w+@[\w.%~!*'()-]+$/);
});
