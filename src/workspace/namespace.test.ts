import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { holdNamespaces, type Namespaces } from "./namespace.ts";
import { spawner } from "./spawner.ts";

// A comma, a colon, a space and a backslash: none of them may reach an option of mount.
const directory = mkdtempSync(join(tmpdir(), "openrath,a:b c\\d-"));
for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(join(directory, name));
writeFileSync(join(directory, "lower/file"), "below");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const overlay = { directory, lower: "lower", upper: "upper", work: "work", merged: "merged" };
async function inside({ enter }: Namespaces, script: string) {
  let output = "";
  const spawned = await spawner().spawn({
    argv: [...enter, "sh", "-c", `cd "$0" && ${script}`, directory],
    env: { PATH: "/usr/bin:/bin" },
    onOutput: (_, bytes) => {
      output += Buffer.from(bytes).toString();
    },
  });
  const { code } = await spawned.exited;
  return { code, output };
}

test("an overlay is seen by what enters and by the host through the holder, and by nobody else", async () => {
  await using held = await holdNamespaces({ network: true, overlay });
  const merged = held.outside(join(directory, "merged"));
  expect(readFileSync(join(merged, "file"), "utf8")).toBe("below");
  expect(readdirSync(join(directory, "merged"))).toEqual([]);
  writeFileSync(join(merged, "file"), "above");
  expect(await inside(held, `cat merged/file; rm merged/file; echo new > merged/other`)).toEqual({ code: 0, output: "above" });
  expect(readdirSync(merged)).toEqual(["other"]);
  expect(readFileSync(join(directory, "lower/file"), "utf8")).toBe("below");
  await held.check();
});

test("the network is the host's only when asked for; otherwise it is a loopback that all who enter share", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const connect = `exec 2>/dev/null; bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' && echo reached`;
  {
    await using open = await holdNamespaces({ network: true });
    expect((await inside(open, connect)).output).toBe("reached\n");
  }
  await using closed = await holdNamespaces({ network: false });
  expect((await inside(closed, connect)).output).toBe("");
  expect((await inside(closed, "cat /proc/net/dev")).output).not.toMatch(/eth|ens|wlan/);
  const address = async () => (await inside(closed, "readlink /proc/self/ns/net")).output;
  expect(await address()).toBe(await address());
  server.close();
});

test("a holder that was killed is noticed, never mistaken for an empty directory", async () => {
  await using held = await holdNamespaces({ network: false, overlay });
  process.kill(held.pid, "SIGKILL");
  while (existsSync(`/proc/${held.pid}`)) await new Promise((resolve) => setTimeout(resolve, 5));
  await expect(held.check()).rejects.toSatisfy((error) => RathError.is(error, "sandbox.failed"));
});

test("disposing of it ends the holder", async () => {
  const held = await holdNamespaces({ network: false, overlay });
  await held[Symbol.asyncDispose]();
  // It may wait to be buried, but holds nothing any more.
  expect(existsSync(`/proc/${held.pid}/root/`)).toBe(false);
});

test("a mount that fails says what the system said", async () => {
  await expect(holdNamespaces({ network: false, overlay: { ...overlay, lower: "nowhere" } })).rejects.toSatisfy(
    (error) => RathError.is(error, "sandbox.unavailable") && String(error.details["reason"]).includes("overlay"),
  );
  await expect(holdNamespaces({ network: false, overlay: { ...overlay, lower: "a,b" } })).rejects.toThrow("cannot be part");
});
