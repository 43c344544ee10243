/** The /etc of a sandbox: enough for programs to have a user, a name for loopback and certificates; nothing of the host's own. */
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Etc extends AsyncDisposable {
  readonly directory: string;
}

export async function makeEtc(seen: readonly string[], options: { readonly network: boolean }): Promise<Etc> {
  const directory = await mkdtemp(join(tmpdir(), `openrath-etc-${process.pid}-`));
  await chmod(directory, 0o755);
  // Places for what is mounted over them.
  for (const path of seen) await mkdir(join(directory, path.slice("/etc".length)), { recursive: true });
  for (const path of copied) {
    const place = join(directory, path.slice("/etc".length));
    await mkdir(dirname(place), { recursive: true });
    await copyFile(path, place).catch(() => {});
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  if (options.network) await writeFile(join(directory, "resolv.conf"), await readFile("/etc/resolv.conf").catch(() => ""));
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

/** Those of processes that are gone: a crash leaves them behind. */
export async function removeLeftEtc(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const pid = /^openrath-etc-(\d+)-/.exec(name)?.[1];
    // One of another user stays: it is not ours to remove, and cannot be.
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}

/** Where libraries are, and how OpenSSL is set up. A copy is cheaper than a mount for each command. */
const copied = ["/etc/ld.so.cache", "/etc/ssl/openssl.cnf"];

const files = {
  passwd: "root:x:0:0:root:/tmp:/bin/sh\nsandbox:x:65534:65534:sandbox:/tmp:/bin/sh\n",
  group: "root:x:0:\nsandbox:x:65534:\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
  hostname: "sandbox\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
};
