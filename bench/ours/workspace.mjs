// What files cost: taking a directory, forking it with a first write, finding what changed, and running commands; each beside the
// plain way of doing the same, in turns.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { inDirectory, median, now, progress } from "../measure.mjs";
import { row } from "../report.mjs";

const { openrath } = await import("../../dist/index.js");
const { shell, writeFile } = await import("../../dist/tool/builtin/tools.js");
const { localSandbox } = await import("../../dist/sandbox/local.js");
const { checkouts } = await import("../../dist/workspace/checkouts.js");
const { ObjectMap } = await import("../../dist/workspace/objects.js");
const { emptyTree, Trees } = await import("../../dist/workspace/tree.js");

export async function measure({ quick }) {
  const reason = await localSandbox()
    .ready()
    .then(
      () => undefined,
      (error) => error.message,
    );
  if (reason !== undefined) return [row("workspace", null, `skipped: ${reason}`)];
  // Commands first: a plain spawn takes the longer the more memory this process holds.
  const rows = await commands(quick ? 20 : 60);
  for (const count of quick ? [100, 10_000] : [100, 10_000, 50_000]) rows.push(...(await forks(count, quick ? 3 : 5)));
  rows.push(...(await eventLoop(quick ? 10 : 30)));
  return rows;
}

/** A repository of small files in directories of a hundred. */
function fill(directory, count) {
  for (let index = 0; index < count; index++) {
    const folder = join(directory, `d${Math.floor(index / 100)}`);
    if (index % 100 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${index}.txt`), `file ${index}\n`.repeat(100 + (index % 200)));
  }
}

function forks(count, passes) {
  return inDirectory(async (directory) => {
    const repository = join(directory, "repository");
    mkdirSync(repository);
    fill(repository, count);
    progress(`${count} files: first look`);
    const rath = openrath({ store: join(directory, "store.db"), implicitForks: "allow" });
    const placed = rath.session("bench").to("local", { workspace: repository });
    let begin = now();
    const taken = await placed.call(writeFile, { path: "first", content: "1" });
    const first = now() - begin;
    begin = now();
    await rath.session("again").to("local", { workspace: repository }).call(writeFile, { path: "first", content: "1" });
    const again = now() - begin;
    begin = now();
    const warm = await taken.call(shell, { command: "true" });
    const opened = now() - begin;

    progress(`${count} files: fork and first write against cp -a, ${passes} times`);
    const times = { fork: [], cp: [], edit: [], tree: [] };
    for (let pass = 0; pass <= passes; pass++) {
      const copy = join(directory, `copy${pass}`);
      const cp = timed(() => run("cp", ["-a", repository, copy]) && run("sh", ["-c", `echo x >> ${join(copy, "d0/f0.txt")}`]));
      begin = now();
      const forked = await warm.fork(`f${pass}`).call(shell, { command: "echo x >> d0/f0.txt" });
      const fork = now() - begin;
      begin = now();
      await forked.call(shell, { command: "for i in 1 2 3 4 5; do echo y > new$i; echo z >> d0/f$i.txt; done; rm d0/f6.txt d0/f7.txt" });
      const edit = now() - begin;
      begin = now();
      await warm.fork(`t${pass}`).call(writeFile, { path: "d0/f0.txt", content: "x" });
      const tree = now() - begin;
      rmSync(copy, { recursive: true });
      if (pass > 0) for (const [name, ms] of Object.entries({ fork, cp, edit, tree })) times[name].push(ms);
    }
    await rath.close();
    const label = `${count.toLocaleString("en")} files`;
    return [
      row(`${label}: first look, contents stored`, first, "ms"),
      row(`${label}: next look, nothing changed`, again, "ms"),
      row(`${label}: first command (files laid out once)`, opened, "ms"),
      row(`${label}: cp -a and a write`, median(times.cp), "ms"),
      row(`${label}: fork and first write by a command, recorded`, median(times.fork), "ms"),
      row(`${label}: the same over cp -a`, median(times.fork) / median(times.cp), "x", count >= 50_000 ? "<= 0.05" : undefined),
      row(`${label}: command that makes 12 changes, found and recorded`, median(times.edit), "ms"),
      row(`${label}: fork and first write by write_file`, median(times.tree), "ms"),
    ];
  });
}

/** One command in an open sandbox, beside a plain spawn of the same. */
function commands(passes) {
  return inDirectory(async (directory) => {
    progress(`${passes} commands, plain and in sandboxes`);
    const work = join(directory, "work");
    mkdirSync(work);
    const spec = { session: "bench", network: "none", env: {} };
    const plainFolder = await localSandbox().open({ ...spec, directory: work });
    const trees = new Trees(new ObjectMap());
    const home = checkouts(join(directory, "home"));
    const checkout = await home.open(trees, emptyTree, { id: "bench", plain: false, network: false });
    const layered = await localSandbox().open({ ...spec, directory: checkout.directory, inside: checkout.inside });
    const times = { plain: [], folder: [], layered: [] };
    for (let pass = -3; pass < passes; pass++) {
      const plain = await timedAsync(() => spawned("true"));
      const folder = await timedAsync(() => plainFolder.exec(["true"]));
      const inside = await timedAsync(() => layered.exec(["true"]));
      if (pass >= 0) for (const [name, ms] of Object.entries({ plain, folder, layered: inside })) times[name].push(ms);
    }
    for (const closing of [plainFolder, layered, checkout, home]) await closing[Symbol.asyncDispose]();
    const plain = median(times.plain);
    return [
      row("a plain spawn of true", plain, "ms"),
      row("true in local, a plain directory", median(times.folder), "ms"),
      row("the same over a plain spawn", median(times.folder) / plain, "x", "<= 8"),
      row(`true in local, ${checkout.kind}`, median(times.layered), "ms"),
      row("the same over a plain spawn", median(times.layered) / plain, "x", checkout.kind === "overlay" ? "<= 15" : undefined),
    ];
  });
}

/** How long the event loop stands still while commands are started by a process that holds much memory. */
function eventLoop(passes) {
  return inDirectory(async (directory) => {
    progress("event loop while spawning, with 500 MB held");
    const held = Array.from({ length: 500 }, () => Buffer.alloc(1 << 20, 1));
    const sandbox = await localSandbox().open({ session: "bench", network: "none", env: {}, directory });
    await sandbox.exec(["true"]);
    const worst = async (run) => {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      for (let pass = 0; pass < passes; pass++) await run();
      delay.disable();
      return delay.percentile(99) / 1e6;
    };
    const plain = await worst(() => spawned("true"));
    const ours = await worst(() => sandbox.exec(["true"]));
    await sandbox[Symbol.asyncDispose]();
    return [
      row(`event loop delay, plain spawn, ${held.length} MB held (p99)`, plain, "ms"),
      row(`event loop delay, command in local, ${held.length} MB held (p99)`, ours, "ms"),
    ];
  });
}

function spawned(command) {
  return new Promise((resolve, reject) => spawn(command, { stdio: "ignore" }).on("exit", resolve).on("error", reject));
}
function run(command, args) {
  const { status } = spawnSync(command, args);
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
  return true;
}
function timed(act) {
  const begin = now();
  act();
  return now() - begin;
}
async function timedAsync(act) {
  const begin = now();
  await act();
  return now() - begin;
}
