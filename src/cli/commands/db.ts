import type { Command } from "commander";
import type { Cli } from "../cli.ts";
export function define(_command: Command, _cli: Cli): void {}
