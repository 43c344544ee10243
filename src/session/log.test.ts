/** Laws of places in logs: what jump pointers and version vectors answer is what a naive walk over all parents answers. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EventKind } from "./event.ts";
import { stateOf } from "./fold.ts";
import { ancestorsOf, history, isAncestor, Log, Node, rootsOf } from "./log.ts";

/** Makes places without a runtime: only their shape matters here. */
class Forest {
  readonly nodes: Node[] = [];
  readonly logs: Log[] = [];

  root(): Node {
    return this.#add(this.#log(), [], "session.created");
  }
  next(at: Node): Node {
    return this.#add(at.log, [at], "note.added");
  }
  call(at: Node): Node {
    return this.#add(at.log, [at], "do.called");
  }
  fork(at: Node): Node {
    return this.#add(this.#log(), [at], "session.forked");
  }
  /** The tip of a log takes in other places: as a merge, or as the adoption of the first of them. */
  join(log: Log, others: readonly Node[], adopts = false): Node {
    const tip = log.tip as Node;
    return this.#add(log, adopts ? [others[0] as Node, tip] : [tip, ...others], "session.merged");
  }

  #log(): Log {
    const log = new Log(`log-${this.logs.length}`);
    this.logs.push(log);
    return log;
  }
  #add(log: Log, parents: readonly Node[], kind: EventKind): Node {
    const id = this.nodes.length.toString(16).padStart(64, "0");
    const step = 1 + Math.max(0, ...parents.map((parent) => parent.step));
    const node = new Node({ id, kind, version: 1, step, at: "2026-01-01T00:00:00.000Z", by: "test", facts: {} }, log, parents);
    this.nodes.push(node);
    return node;
  }
}

type Move = {
  readonly kind: "root" | "next" | "fork" | "join" | "adopt" | "ask";
  readonly a: number;
  readonly b: number;
  readonly c: number;
};

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(
      "root" as const,
      "next" as const,
      "fork" as const,
      "fork" as const,
      "join" as const,
      "join" as const,
      "adopt" as const,
      "ask" as const,
    ),
    a: fc.nat(),
    b: fc.nat(),
    c: fc.nat(),
  }),
  { maxLength: 40 },
);

/** Grows a forest; `ask` reads vectors on the way, so that later moves meet filled caches. */
function grow(of: readonly Move[]): Forest {
  const forest = new Forest();
  forest.root();
  for (const { kind, a, b, c } of of) {
    const pick = (index: number): Node => forest.nodes[index % forest.nodes.length] as Node;
    const log = forest.logs[a % forest.logs.length] as Log;
    const others = [...new Set([pick(b), pick(c)])].filter((node) => node !== log.tip);
    if (kind === "root") forest.root();
    else if (kind === "next") forest.next(log.tip as Node);
    else if (kind === "fork") forest.fork(pick(b));
    else if (kind === "ask") isAncestor(pick(b), pick(c));
    else if (others.length > 0) forest.join(log, others, kind === "adopt");
  }
  return forest;
}

function naiveAncestors(node: Node): Set<Node> {
  const found = new Set<Node>();
  const visit = (at: Node): void => {
    if (found.has(at)) return;
    found.add(at);
    for (const parent of at.parents) visit(parent);
  };
  visit(node);
  return found;
}

describe("in any graph of forks, merges, adoptions and nested joins", () => {
  test("atStep is the walk along first parents", () => {
    fc.assert(
      fc.property(moves, (of) => {
        for (const node of grow(of).nodes) {
          for (let step = 0; step <= node.step + 1; step++) {
            let naive: Node | undefined = node;
            while (naive !== undefined && naive.step > step) naive = naive.parents[0];
            expect(node.atStep(step)).toBe(naive);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test("ancestorsOf names exactly the ancestors, log by log", () => {
    fc.assert(
      fc.property(moves, (of) => {
        const forest = grow(of);
        for (const node of forest.nodes) {
          const vector = ancestorsOf(node);
          const named = forest.nodes.filter((other) => (vector.get(other.log) ?? -1) >= other.seq);
          expect(new Set(named)).toStrictEqual(naiveAncestors(node));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("rootsOf names the logs among the ancestors that begin with no parent", () => {
    fc.assert(
      fc.property(moves, (of) => {
        const forest = grow(of);
        for (const node of forest.nodes) {
          const begins = [...naiveAncestors(node)].filter(({ parents }) => parents.length === 0);
          expect(new Set(rootsOf(node))).toStrictEqual(new Set(begins.map(({ log }) => log)));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("isAncestor is membership in the naive set", () => {
    fc.assert(
      fc.property(moves, (of) => {
        const forest = grow(of);
        for (const b of forest.nodes) {
          const naive = naiveAncestors(b);
          for (const a of forest.nodes) expect(isAncestor(a, b)).toBe(naive.has(a));
        }
      }),
      { numRuns: 100 },
    );
  });

  test("a first-parent walk, the mutant, misses what a merge brought in", () => {
    const forest = new Forest();
    const root = forest.root();
    const [a, b] = [forest.fork(root), forest.fork(root)];
    const merged = forest.join(a.log, [b]);
    const mutant = (one: Node, other: Node): boolean => other.atStep(one.step) === one;
    expect(mutant(b, merged)).toBe(false);
    expect(isAncestor(b, merged)).toBe(true);
  });

  test("history is complete, without repetition, parents before children", () => {
    fc.assert(
      fc.property(moves, (of) => {
        const { nodes } = grow(of);
        const tip = nodes.at(-1) as Node;
        const past = history(tip);
        expect(new Set(past)).toStrictEqual(naiveAncestors(tip));
        expect(new Set(past).size).toBe(past.length);
        const place = new Map(past.map((node, index) => [node, index]));
        for (const node of past) for (const parent of node.parents) expect(place.get(parent)).toBeLessThan(place.get(node) as number);
      }),
      { numRuns: 100 },
    );
  });

  test("taking a log back to what is stored takes back what it had joined", () => {
    const forest = new Forest();
    const root = forest.root();
    const [a, b] = [forest.fork(root), forest.fork(root)];
    a.log.storedHead = a;
    expect(isAncestor(b, forest.join(a.log, [b]))).toBe(true);
    a.log.rewind();
    const next = forest.next(a);
    expect(a.log.tip).toBe(next);
    expect(isAncestor(b, next)).toBe(false);
    expect(isAncestor(root, next)).toBe(true);
  });

  test("taking a log back to what is stored beside its tip keeps count of open calls (mutant: those before both are taken back)", () => {
    const forest = new Forest();
    const root = forest.root();
    const { log } = root;
    log.storedHead = root;
    const called = forest.call(root);
    log.keep(called);
    const onItsWay = forest.next(called);
    log.rewind();
    forest.next(called);
    log.keep(onItsWay);
    expect(log.open).toBe(1);
    log.rewind();
    expect(log.open).toBe(1);
    expect(log.tip).toBe(onItsWay);
  });
});

describe("long pasts do not overflow the stack", () => {
  test("a log of 100 000 events", () => {
    const forest = new Forest();
    const root = forest.root();
    let tip = root;
    while (tip.step < 100_000) tip = forest.next(tip);
    expect(tip.atStep(1)).toBe(root);
    expect(tip.atStep(54_321)).toBe(forest.nodes[54_320]);
    expect(isAncestor(root, tip)).toBe(true);
    expect(history(tip).length).toBe(100_000);
    expect(stateOf(tip).talk).toBeUndefined();
  });

  test("20 000 nested forks", () => {
    const forest = new Forest();
    const root = forest.root();
    let tip = root;
    for (let depth = 0; depth < 20_000; depth++) tip = forest.fork(tip);
    expect(tip.atStep(1)).toBe(root);
    expect(tip.atStep(7777)).toBe(forest.nodes[7776]);
    expect(history(tip).length).toBe(20_001);
    expect(stateOf(tip).open).toStrictEqual([]);
  });
});

describe("asking about ancestors takes memory for what is new, and no deep stack", () => {
  /** Runs a program over log.ts in a process of 128 MB. */
  async function inLittleMemory(program: string): Promise<string> {
    const code = `
      import { Log, Node, isAncestor } from "${new URL("./log.ts", import.meta.url).pathname}";
      let count = 0;
      const add = (log, parents, kind) => {
        const step = 1 + Math.max(0, ...parents.map((parent) => parent.step));
        return new Node({ id: String(count++), kind, version: 1, step, at: "", by: "", facts: {} }, log, parents);
      };
      const root = add(new Log("root"), [], "session.created");
      const fork = (at) => add(new Log("fork" + count), [at], "session.forked");
      const old = fork(root);
      let at = old;
      ${program}
      console.log(isAncestor(old, at));`;
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ["--max-old-space-size=128", "--import", "tsx", "--input-type=module", "-e", code]);
    return stdout.trim();
  }

  test("over 20 000 nested forks", async () => {
    expect(await inLittleMemory("for (let i = 0; i < 20000; i++) at = fork(at);")).toBe("true");
  });

  test("over 20 000 merges, each of the one before into a new fork", async () => {
    const program = 'for (let i = 0; i < 20000; i++) { const next = fork(root); at = add(next.log, [next, at], "session.merged"); }';
    expect(await inLittleMemory(program)).toBe("true");
  });

  test("over 10 000 rounds of two forks and their merge", async () => {
    const program = 'for (let i = 0; i < 10000; i++) at = add(old.log, [at, fork(at), fork(at)], "session.merged"); at = fork(at);';
    expect(await inLittleMemory(program)).toBe("true");
  });
});
