/** What the commands about memory print, on a terminal and piped. */
import { goldenFiles, type Line, lineOf } from "./golden.ts";
import { type MemoryWorld, makeMemoryWorld } from "./memory-world.ts";

const line = lineOf<MemoryWorld>();
const why = ["--reason", "the command changed"];

const files: Readonly<Record<string, readonly Line<MemoryWorld>[]>> = {
  memory: [
    line(() => ["memory"]),
    line(() => ["memory", "ls", "--scope", "user"]),
    line(() => ["memory", "ls", "--scope", "everybody"]),
    line(() => ["memory", "ls", "--jsonl"], { only: "piped" }),
    line(() => ["memory", "search", "npm test"]),
    line(() => ["memory", "search", "submarine"]),
    line(() => ["memory", "show", "test-command"]),
    line(() => ["memory", "show", "guide"], { only: "piped" }),
    line(() => ["memory", "show", "memory://project/guide@1", "--json"], { only: "piped" }),
    line(() => ["memory", "show", "nothing"]),
    line(() => ["memory", "why", "guide"]),
    line(() => ["memory", "why", "nothing", "--json"], { only: "piped" }),
    line(() => ["memory", "used-by", "test-command"]),
    line(() => ["memory", "used-by", "guide"]),
    line(() => ["memory", "used-by", "nothing"]),
    line(() => ["memory", "history", "test-command"]),
    line(() => ["memory", "history", "nothing"]),
  ],
  "memory-decisions": [
    line(() => ["memory", "retract", "test-command"]),
    line(() => ["memory", "retract", "test-command", ...why]),
    line(() => ["memory", "retract", "nothing", ...why, "--yes"]),
    line(() => ["memory", "retract", "test-command", ...why, "--yes", "--by", "human:ada"], { only: "terminal" }),
    line(() => ["memory", "retract", "test-command", ...why, "--yes"], { only: "terminal" }),
    line(() => ["memory", "ls", "--all"], { only: "terminal" }),
    line(() => ["memory", "why", "test-command"], { only: "terminal" }),
    line(({ guide }) => ["show", guide], { only: "terminal" }),
    line(() => ["memory", "rollback", "3", "--reason", "it was right", "--yes"], { only: "piped" }),
    line(() => ["memory", "rollback", "3", "--reason", "again", "--yes"], { only: "piped" }),
    line(() => ["memory", "history", "test-command"], { only: "piped" }),
    line(() => ["memory", "rollback", "99", "--reason", "x", "--yes"]),
    line(() => ["memory", "rollback", "yesterday", "--reason", "x", "--yes"]),
    line(() => ["memory", "rollback", "1", "--reason", "x"]),
  ],
  why: [
    line(({ guide }) => ["why", guide.slice(0, 8), "guide.md:3"]),
    line(({ guide }) => ["why", guide, "--json"], { only: "piped" }),
    line(({ guide }) => ["why", guide, "answer=run npm test"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "call=write_file"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "call=fly"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "check=short"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "check=long"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "cost"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "cost=scripted"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "cost=gpt"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "cost=budget"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "memory=guides"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "guide.txt:1"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "memory=guide"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "memory://project/test-command"], { only: "terminal" }),
    line(({ learned, call }) => ["why", learned, `event=${call.slice(0, 12)}`]),
    line(({ guide }) => ["why", guide, "answer=guide says"], { only: "terminal" }),
    line(({ guide }) => ["why", guide, "answer=nobody said this"]),
    line(({ guide }) => ["why", guide, "route=walk"]),
    line(({ guide }) => ["why", guide, "guide.md:9"]),
    line(({ guide }) => ["why", guide, "the guide"]),
    line(({ hostile }) => ["why", hostile, "memory=x"]),
  ],
  "memory-help": [
    line(() => ["memory", "--help"], { only: "terminal" }),
    line(() => ["memory", "retract", "--help"], { only: "terminal" }),
    line(() => ["help", "why"], { only: "terminal" }),
    line(() => ["memory", "lss"]),
    line(() => ["memory", "search"]),
  ],
  "memory-sessions": [
    line(({ learned }) => ["show", learned]),
    line(({ guide }) => ["show", guide]),
    line(({ hostile }) => ["show", hostile]),
    line(({ learned }) => ["log", learned, "--oneline"]),
    line(({ guide }) => ["log", guide, "--oneline", "--all"], { only: "terminal" }),
  ],
};

goldenFiles(files, makeMemoryWorld);
