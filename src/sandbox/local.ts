/**
 * The sandbox of this machine: each command runs in namespaces of its own, made by bubblewrap, with a filter of system calls and
 * limits. It sees the system's programs, the workspace at /workspace and an empty /tmp; when it returns, nothing of it is left
 * running. Where any part of that cannot be had, nothing runs: there is no weaker variant.
 *
 * The kernel is shared with the host. Code of people who mean harm belongs into a virtual machine.
 */
import { RathError } from "../session/errors.ts";
import { spawner as ownSpawner, type Spawner } from "../workspace/spawner.ts";
import { openLocal } from "./local-open.ts";
import { type Found, probe, unavailable } from "./local-probe.ts";
import type { SandboxBackend, SandboxSpec } from "./sandbox.ts";

/**
 * Commands in namespaces of their own. Limits hold for the sandbox together where control groups can be made (root, or a user with a
 * delegated part of the hierarchy). Otherwise memory is limited for each process, and processes are counted by the kernel for each
 * command; memory that processes share by a mapping without a file is then bounded by their address space alone.
 *
 * Commands find programs in /usr alone, and Node where it has a folder of its own outside every home. `/tmp` is empty for each
 * command and holds half of the memory, 512 MB at most. Variables are those of `spec.env`, PATH, HOME, LANG and TERM.
 *
 * As root, commands are root to files all the same: what only root may read below /usr they can read. An ordinary user is better.
 *
 * @example
 * const rath = openrath({ sandboxes: { local: localSandbox() } });
 */
export function localSandbox(options: { readonly spawner?: Spawner | undefined } = {}): SandboxBackend {
  const spawner = options.spawner ?? ownSpawner();
  let found: Promise<Found> | undefined;
  const ready = () => {
    // What failed may have been mended since; what went well stays so.
    found ??= probe(spawner).catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };
  return {
    kind: "local",
    capabilities: { isolation: "namespace", network: true, fork: false, snapshot: false, directory: true },
    ready: async () => void (await ready()),
    async open(spec) {
      const directory = checked(spec);
      return openLocal(spawner, await ready(), spec, directory);
    },
  };
}

/** Where the workspace is for whoever has entered its namespaces. Refuses by name what cannot be had. */
function checked(spec: SandboxSpec): string {
  if (typeof spec.network === "object") {
    const list = spec.network.allow.join(", ");
    throw unavailable(`it cannot limit the network to a list (${list})`, `Use network "none" or "all".`);
  }
  if (spec.image !== undefined)
    throw unavailable(`it has no images (${spec.image})`, "Leave the image out: it uses the programs of this machine.");
  const directory = spec.inside?.directory ?? spec.directory;
  if (directory === undefined)
    throw new RathError(
      "sandbox.failed",
      `The sandbox "local" needs a directory to work in: say session.to("local", { workspace: "./repo" }).`,
    );
  return directory;
}
