/** The /etc of a sandbox: enough for programs to have a user, a name for loopback and certificates; nothing of the host's own. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemEtc } from "./local-profile.ts";

export interface Etc extends AsyncDisposable {
  readonly directory: string;
}

export async function makeEtc(options: { readonly network: boolean }): Promise<Etc> {
  const directory = await mkdtemp(join(tmpdir(), "openrath-etc-"));
  // What the host has is mounted over these. A link of the host is followed, so its place is by what it leads to.
  for (const path of systemEtc.filter((path) => existsSync(path))) {
    if (path === "/etc/ld.so.cache") await writeFile(join(directory, "ld.so.cache"), "");
    else await mkdir(join(directory, path.slice("/etc/".length)));
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  if (options.network) await writeFile(join(directory, "resolv.conf"), await readFile("/etc/resolv.conf").catch(() => ""));
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

const files = {
  passwd: "root:x:0:0:root:/tmp:/bin/sh\nsandbox:x:65534:65534:sandbox:/tmp:/bin/sh\n",
  group: "root:x:0:\nsandbox:x:65534:\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
  hostname: "sandbox\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
};
