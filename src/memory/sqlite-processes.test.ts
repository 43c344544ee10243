import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";
import { keys } from "../testing/memory-case.ts";
import { collect } from "../testing/store-case.ts";
import { sqliteMemory } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-memory-processes-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Adds 1 to what it last saw of one item, and tells each version that was acknowledged. */
const counting = `
  const [path, name, rounds] = process.argv.slice(1);
  const { sqliteMemory } = await import(${JSON.stringify(new URL("./sqlite.ts", import.meta.url).href)});
  const { item } = await import(${JSON.stringify(new URL("../testing/memory-case.ts", import.meta.url).href)});
  const memory = sqliteMemory(path);
  const uri = "memory://project/count";
  for (let done = 0, tried = 0; done < Number(rounds); tried++) {
    let newest;
    for await (const one of memory.list({ uri })) newest = one;
    const version = (newest?.version ?? 0) + 1;
    const content = String(Number(newest?.content ?? 0) + 1);
    const { written } = await memory.write([{ item: item("count", content, { version, event: name + tried }), based: version - 1 }]);
    if (written.length === 0) continue;
    done++;
    console.log(version);
  }
  await memory[Symbol.asyncDispose]();
`;

function start(path: string, name: string, rounds: number): { readonly child: ChildProcess; readonly acknowledged: number[] } {
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", counting, path, name, `${rounds}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const acknowledged: number[] = [];
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => acknowledged.push(Number(line)));
  return { child, acknowledged };
}

test("processes that write the same item lose nothing, though one of them is killed", { timeout: 60_000 }, async () => {
  const path = join(folder, "memory.db");
  const endless = start(path, "killed", 1_000_000);
  const others = ["a", "b"].map((name) => start(path, name, 30));
  while (endless.acknowledged.length < 10 && endless.child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 5));
  const gone = once(endless.child, "close");
  endless.child.kill("SIGKILL");
  await gone;
  expect(endless.acknowledged.length).toBeGreaterThanOrEqual(10);
  for (const { child } of others) if (child.exitCode === null) await once(child, "close");
  await using memory = sqliteMemory(path);
  const versions = await collect(memory.list({ uri: "memory://project/count", asOf: "all" }));
  // Each is one more than the one before it, so none was written over.
  expect(versions.map(({ content }) => Number(content))).toEqual(versions.map((_, i) => i + 1));
  expect(versions.map(({ version }) => version)).toEqual(versions.map((_, i) => i + 1));
  const known = new Set(versions.map(({ version }) => version));
  const acknowledged = [endless, ...others].flatMap((one) => one.acknowledged);
  expect(acknowledged.filter((version) => !known.has(version))).toEqual([]);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  expect(others.map((one) => one.acknowledged.length)).toEqual([30, 30]);
  expect(await keys(memory, `${versions.length}`)).toEqual(["count"]);
});
