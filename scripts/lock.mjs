// Completes a lock file after `npm install`: npm leaves out binaries for platforms its registry did not serve, and then
// `npm ci` refuses the file. Every optional dependency gets an entry, and no entry names a download address.
import { readFileSync, writeFileSync } from "node:fs";

const systems = ["darwin", "linux", "win32", "freebsd", "openbsd", "netbsd", "sunos", "aix", "android", "openharmony"];
const processors = ["x64", "arm64", "arm", "ia32", "ppc64", "riscv64", "s390x", "loong64", "mips64el", "wasm32"];

for (const file of process.argv.slice(2)) {
  const lock = JSON.parse(readFileSync(file, "utf8"));
  for (const entry of Object.values(lock.packages)) if (entry.resolved?.startsWith("http")) delete entry.resolved;
  for (const [path, owner] of Object.entries(lock.packages)) {
    if (path === "") continue;
    for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
      if (`node_modules/${name}` in lock.packages || `${path}/node_modules/${name}` in lock.packages) continue;
      lock.packages[`node_modules/${name}`] = platformEntry(name, version, owner);
      console.log(`${file}: added ${name}@${version}`);
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
}

function platformEntry(name, version, owner) {
  const words = name.split(/[/-]/).map((word) => ({ windows: "win32", win32: "win32" })[word] ?? word);
  const os = words.filter((word) => systems.includes(word));
  const cpu = words.filter((word) => processors.includes(word));
  const libc = words.some((word) => word.startsWith("musl")) ? ["musl"] : words.some((word) => word.startsWith("gnu")) ? ["glibc"] : [];
  return {
    version,
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(owner.dev ? { dev: true } : {}),
    ...(libc.length > 0 ? { libc } : {}),
    optional: true,
    ...(os.length > 0 ? { os } : {}),
  };
}
