/**
 * The questions that a record must answer, asked through the public API and again from the command line, of one session in which
 * everything happens. It takes seconds to build, so all of them share it: each file of questions is read inside its block.
 */
import { afterAll, describe } from "vitest";
import { rich } from "./world.ts";

afterAll(() => rich[Symbol.asyncDispose]());

describe("through the API", async () => void (await import("./api-questions.ts")));
describe("through the API, of a whole example and of every claim", async () => void (await import("./api-evidence.ts")));
describe("from the command line", async () => void (await import("./cli-questions.ts")));
describe("from the command line, of a whole example and of every claim", async () => void (await import("./cli-evidence.ts")));
describe("where the reference implementation falls short", async () => void (await import("./gaps.ts")));
