/** Parked runs cost almost no memory. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundled } from "../support/bundled.ts";

const script = await bundled(new URL("../support/parked.ts", import.meta.url));

test("a parked run adds less than five kilobytes: ten thousand add less than fifty megabytes", async () => {
  const count = 600;
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", script, String(count)]);
  const { heap, pending } = JSON.parse(stdout) as { readonly heap: number; readonly pending: number };
  console.log(`${count} parked runs add ${Math.round(heap / 1024)} KiB`);
  expect(pending).toBe(count + 200);
  expect(heap / count).toBeLessThan(5 * 1024);
});
