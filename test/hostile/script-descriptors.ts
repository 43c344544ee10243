/** Prints what descriptors a command has, started from a process that itself was handed one too many. */
import { localSandbox } from "../../src/sandbox/local.ts";

await using sandbox = await localSandbox().open({ session: "s", directory: process.argv[2], network: "none", env: {} });
const { stdout, stderr } = await sandbox.exec("ls /proc/$$/fd; cat <&47");
console.log(JSON.stringify({ stdout, stderr }));
