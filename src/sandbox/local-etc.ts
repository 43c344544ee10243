/** The /etc of a sandbox: enough for programs to have a user, a name for loopback and certificates; nothing of the host's own. */
import { statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Etc extends AsyncDisposable {
  readonly directory: string;
}

export async function makeEtc(seen: readonly string[], options: { readonly network: boolean }): Promise<Etc> {
  const directory = await mkdtemp(join(tmpdir(), "openrath-etc-"));
  await chmod(directory, 0o755);
  // Places for what is mounted over them.
  for (const path of seen) {
    const place = join(directory, path.slice("/etc".length));
    await mkdir(dirname(place), { recursive: true });
    if (statSync(path).isDirectory()) await mkdir(place);
    else await writeFile(place, "");
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
