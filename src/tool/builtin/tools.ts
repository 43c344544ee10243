/**
 * The built-in tools. Those for files and commands act through the sandbox of their session, those for memory through the session
 * itself. An agent has only those it is given. `runTests` is no tool but a check.
 */
import type { Tool } from "../../session/session.ts";
import { editFile } from "./edit-file.ts";
import { listFiles } from "./list-files.ts";
import { forget, memoryTools, recall, remember } from "./memory.ts";
import { readFile } from "./read-file.ts";
import { runCode } from "./run-code.ts";
import { searchFiles } from "./search-files.ts";
import { shell } from "./shell.ts";
import { writeFile } from "./write-file.ts";

export type { EditFileInput } from "./edit-file.ts";
export type { ListFilesInput } from "./list-files.ts";
export type { ForgetInput, MemoryToolOptions, Recalled, RecallInput, RememberInput } from "./memory.ts";
export type { ReadFileInput } from "./read-file.ts";
export type { RunCodeInput } from "./run-code.ts";
export { runTests } from "./run-tests.ts";
export type { SearchFilesInput } from "./search-files.ts";
export type { WriteFileInput } from "./write-file.ts";
export { editFile, forget, listFiles, memoryTools, readFile, recall, remember, runCode, searchFiles, shell, writeFile };

/**
 * All seven that work on files, for agents that work on code.
 *
 * @example
 * const fixer = new Agent({ model: "openai/gpt-5.5", tools: coding });
 * const fixed = await fixer.forward(rath.session("Make the tests pass").to("local", { workspace: "." }));
 */
export const coding: readonly Tool[] = Object.freeze([shell, readFile, writeFile, editFile, listFiles, searchFiles, runCode]);
