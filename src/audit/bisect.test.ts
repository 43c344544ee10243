import { mkdtemp, readdir, readFile, rm, writeFile as toDisk } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noLocal } from "../../test/support/local.ts";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { writeFile } from "../tool/builtin/tools.ts";
import { bisect } from "./bisect.ts";
import { lineageEvents } from "./lineage-events.ts";

function memory() {
  return composeRath({ store: "memory", implicitForks: "allow" }, {});
}

async function noted(rath: ReturnType<typeof memory>, steps: number): Promise<Session> {
  let session: Session = rath.session("go");
  for (let index = 0; index < steps; index++) session = session.note(String(index));
  await rath.save(session);
  return session;
}

/** The place that a fork was made of. */
function stepOf(fork: Session): number {
  return fork.step - 1;
}

describe("bisect", () => {
  test("finds where any predicate turns bad, the first such step of a monotone one, in ⌈log₂ n⌉ + 2 checks", async () => {
    await using rath = memory();
    const session = await noted(rath, 60);
    const predicate = fc.oneof(
      fc.integer({ min: 0, max: 64 }).map((first) => Array.from({ length: 64 }, (_, step) => step < first)),
      fc.array(fc.boolean(), { minLength: 64, maxLength: 64 }),
    );
    await fc.assert(
      fc.asyncProperty(predicate, fc.integer({ min: 1, max: 62 }), async (passes, bad) => {
        const asked: number[] = [];
        const found = await bisect(
          session,
          (place) => {
            asked.push(stepOf(place));
            return passes[stepOf(place)] as boolean;
          },
          { bad },
        );
        const places = Array.from({ length: bad }, (_, index) => passes[index + 1] as boolean);
        expect(found.places).toBe(bad);
        expect(asked).toEqual(found.steps.map(({ step }) => step));
        expect(asked.length).toBe(found.checks);
        expect(found.checks).toBeLessThanOrEqual(Math.ceil(Math.log2(bad)) + 2);
        if (places.at(-1)) expect(found).toMatchObject({ result: "never-fails", good: { step: bad }, bad: undefined });
        else if (!places[0]) expect(found).toMatchObject({ result: "always-fails", bad: { step: 1 }, good: undefined });
        else {
          expect(found.result).toBe("found");
          const [good, first] = [found.good?.step ?? 0, found.bad?.step ?? 0];
          expect([passes[good], passes[first], first - good]).toEqual([true, false, 1]);
          const falls = places.slice(1).filter((now, index) => places[index] && !now).length;
          if (falls === 1 && places.lastIndexOf(true) < places.indexOf(false)) expect(first).toBe(places.indexOf(false) + 1);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("passes over what cannot be told, and says where nothing could be", async () => {
    await using rath = memory();
    const session = await noted(rath, 20);
    const skipping = (skipped: (step: number) => boolean) =>
      bisect(session, (place) => (skipped(stepOf(place)) ? undefined : stepOf(place) < 11));
    expect(await skipping((step) => step % 3 === 0)).toMatchObject({ result: "found", bad: { step: 11 }, good: { step: 10 } });
    expect(await skipping((step) => step > 8 && step < 15)).toMatchObject({ result: "unclear", bad: { step: 15 }, good: { step: 8 } });
    expect(await skipping((step) => step === 22)).toMatchObject({ result: "unclear", checks: 1 });
  });

  test("asked to confirm, says when the answers contradict each other", async () => {
    await using rath = memory();
    const session = await noted(rath, 8);
    const seen = new Map<number, number>();
    const flaky = (place: Session): boolean => {
      const times = (seen.get(stepOf(place)) ?? 0) + 1;
      seen.set(stepOf(place), times);
      return stepOf(place) < 5 || times > 1;
    };
    expect(await bisect(session, flaky, { confirm: true })).toMatchObject({ result: "contradictory" });
    expect(await bisect(session, (place) => stepOf(place) < 5, { confirm: true })).toMatchObject({ result: "found", bad: { step: 5 } });
  });

  test("looks between the places it is given, and refuses others", async () => {
    await using rath = memory();
    const session = await noted(rath, 20);
    const found = await bisect(session, (place) => ![3, 12, 13].includes(stepOf(place)), { good: 5, bad: 13 });
    expect(found).toMatchObject({ result: "found", bad: { step: 12 }, places: 9 });
    await expect(bisect(session, () => true, { good: 13, bad: 5 })).rejects.toMatchObject({ code: "session.not-found" });
    await expect(bisect(session, () => true, { godo: 1 } as never)).rejects.toMatchObject({ code: "value.unsupported" });
    await expect(bisect(session, () => "yes" as never)).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test("records nothing: neither the session, nor its branches, nor the store know what the check did", async () => {
    await using rath = memory();
    let session: Session = rath.session("go").to("memory");
    for (const text of ["1", "2", "3", "4"]) session = await session.call(writeFile, { path: "n.txt", content: text });
    const before = { head: session.head, events: (await lineageEvents(session)).length, sessions: await idsIn(rath) };
    const found = await bisect(
      session,
      async (place) => {
        const checked = await place.check("small", async ({ sandbox }) => Number(Buffer.from(await sandbox.read("n.txt")).toString()) < 3);
        const written = await checked.call(writeFile, { path: "n.txt", content: "0" });
        expect(await written.files.text("n.txt")).toBe("0");
        return checked.checks.at(-1)?.passed;
      },
      { places: "files" },
    );
    expect(found).toMatchObject({ result: "found", places: 4 });
    expect(await session.at(found.bad?.step ?? 0).files.text("n.txt")).toBe("3");
    expect({ head: session.head, events: (await lineageEvents(session)).length, sessions: await idsIn(rath) }).toEqual(before);
    const next = await session.do("goes on", () => 1);
    expect(next.id).toBe(session.id);
  });

  // Mutant: the memory of the scratch runtime is the memory of everybody.
  test("publishes nothing: what a check remembers, it alone can recall", async () => {
    await using rath = memory();
    const session = await (await rath.session("go").remember({ key: "tide", content: "high at noon", publish: "now" })).do("look", () => 1);
    const revision = (await rath.memory.get("tide"))?.revision;
    const { checks } = await bisect(session, async (place) => {
      const wrote = await place.remember({ key: "tide", content: "high at one", publish: "now" });
      expect((await wrote.recall({ key: "tide" })).output.map(({ content }) => content)).toEqual(["high at one"]);
      return false;
    });
    expect(checks).toBeGreaterThan(1);
    expect(await rath.memory.get("tide")).toMatchObject({ content: "high at noon", revision });
    const uses: unknown[] = [];
    for await (const use of rath.memory.usedBy("tide")) uses.push(use);
    expect(uses).toEqual([]);
  });

  test("begins with the files that were found in the directory then, not with those that are there now", async () => {
    await using rath = memory();
    const directory = await mkdtemp(join(tmpdir(), "openrath-bisect-"));
    try {
      await toDisk(join(directory, "n.txt"), "1");
      let session: Session = rath.session("go").to("memory", { workspace: directory });
      for (const text of ["7", "8"]) session = await session.call(writeFile, { path: "n.txt", content: text });
      await toDisk(join(directory, "n.txt"), "9");
      const read = async (place: Session): Promise<string> =>
        (await place.do("read", async ({ sandbox }) => Buffer.from(await sandbox.read("n.txt")).toString())).output;
      const found = await bisect(session, async (place) => Number(await read(place)) < 5, { places: "files" });
      expect(found).toMatchObject({ result: "found", places: 3, good: { kind: "placement.changed" }, bad: { kind: "tool.returned" } });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test.skipIf(noLocal !== undefined)("runs a real command in a fresh sandbox at each step, and leaves no process behind", async () => {
    await using rath = memory();
    let session: Session = rath.session("go").to("local");
    for (const text of ["1", "2", "3", "4", "5"]) session = await session.call(writeFile, { path: "n.txt", content: text });
    const marker = `31.${process.pid}`;
    const found = await bisect(
      session,
      async (place) => {
        const done = await place.do("test", async ({ sandbox }) => {
          const result = await sandbox.exec(`test ! -e left && touch left && (sleep ${marker} & ) && test $(cat n.txt) -lt 4`);
          return result.exitCode;
        });
        return done.output === 0;
      },
      { places: "files" },
    );
    expect(found).toMatchObject({ result: "found", places: 5 });
    expect(await session.at(found.bad?.step ?? 0).files.text("n.txt")).toBe("4");
    expect(await running(`sleep\0${marker}`)).toEqual([]);
  });
});

async function idsIn(rath: ReturnType<typeof memory>): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of rath.sessions()) ids.push(id);
  return ids;
}

/** Processes whose command line holds this. */
async function running(words: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command.includes(words)) found.push(command);
  }
  return found;
}
