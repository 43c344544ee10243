/** `NAME` or `FILE[#export]` → the Workflow to execute. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Workflow } from "../workflow/workflow.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { importFile } from "./import-file.ts";

export interface Found {
  readonly workflow: Workflow;
  /** The name it is registered under, when it was named. */
  readonly name: string | undefined;
}

/** A key of `workflows`, else a file: the export named, else `default`, else the only Workflow it exports. */
export async function findWorkflow(cli: Cli, what: string): Promise<Found> {
  const [path = "", exported] = what.split("#");
  const file = resolve(cli.host.cwd, path);
  const isFile = existsSync(file);
  // A file may bring the workflow for a project that has no project file, and no store yet.
  const { workflows } = await cli.project({ make: true });
  const named = Object.hasOwn(workflows, what) ? workflows[what] : undefined;
  if (named !== undefined) return { workflow: named, name: what };
  if (isFile) return { workflow: chosen(await importFile(file), exported, what), name: undefined };
  if (/[./\\]/.test(path)) throw new Fault(exits.notFound, `There is no file ${file}.`);
  const names = Object.keys(workflows);
  throw new Fault(
    exits.notFound,
    `There is no workflow "${what}", and no file of that name. ${names.length === 0 ? "No openrath.config.ts names any." : `There are: ${names.join(", ")}.`}`,
    { next: names.length === 0 ? "openrath run FILE.ts, or openrath init" : undefined },
  );
}

/** The workflow of a file under the name its runs have on record. */
export async function importedWorkflow(cli: Cli, what: string): Promise<Workflow> {
  const [path = "", exported] = what.split("#");
  return chosen(await importFile(resolve(cli.host.cwd, path)), exported, what);
}

function chosen(module: Readonly<Record<string, unknown>>, exported: string | undefined, what: string): Workflow {
  if (exported !== undefined) {
    const workflow = asWorkflow(module[exported]);
    if (workflow !== undefined) return workflow;
    const why = !(exported in module)
      ? `It has no export "${exported}"`
      : isSubclass(module[exported])
        ? `The constructor of its class ${exported} takes something, so that an instance is needed: export new ${exported}(…)`
        : `Its export "${exported}" is no Workflow`;
    throw new Fault(exits.usage, `${what} names no workflow. ${why}; it exports ${namesOf(module).join(", ") || "none"}.`);
  }
  const byDefault = asWorkflow(module["default"]);
  if (byDefault !== undefined) return byDefault;
  const names = namesOf(module);
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return asWorkflow(module[only]) as Workflow;
  if (only === undefined) {
    const wanting = Object.keys(module).find((name) => isSubclass(module[name]));
    const why =
      wanting === undefined
        ? "export an Agent, or a class that extends Workflow"
        : `the constructor of its class ${wanting} takes something, so that an instance is needed: export new ${wanting}(…)`;
    throw new Fault(exits.usage, `${what} exports no Workflow: ${why}.`);
  }
  throw new Fault(exits.usage, `${what} exports several workflows: ${names.join(", ")}.`, { next: `openrath run ${what}#${only}` });
}

function namesOf(module: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(module).filter((name) => isWorkflow(module[name]));
}

function isWorkflow(value: unknown): boolean {
  return value instanceof Workflow || isClass(value);
}

/** A class that can be made without being given anything counts as the workflow it makes. */
function isClass(value: unknown): value is new () => Workflow {
  return isSubclass(value) && value.length === 0;
}

function isSubclass(value: unknown): value is new (...given: never[]) => Workflow {
  return typeof value === "function" && value.prototype instanceof Workflow;
}

function asWorkflow(value: unknown): Workflow | undefined {
  return value instanceof Workflow ? value : isClass(value) ? new value() : undefined;
}
