/** What the conformance suites share: who is tested, which tests there are, and skips that say why. */
import { describe, test } from "./vitest.ts";

/** Something a conformance suite is run against. */
export interface Conformance<T> {
  readonly name: string;
  /** A fresh, empty one for each test. */
  create(): T | Promise<T>;
  /** Tests it cannot pass, and why. The reason is printed. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[] | undefined;
}

/** Something that may be opened again over what an open one has stored. */
export interface Reopening<T> extends Conformance<T> {
  reopen?: (old: T) => Promise<T>;
}

/** A test of something that is opened for it and disposed of after it. */
interface ReopeningCase<T> {
  readonly name: string;
  readonly reopens?: boolean | undefined;
  run(subject: T, reopen: (old: T) => Promise<T>): Promise<void>;
}

/** Registers the tests of a contract: `run` makes one of a case. A skip that names no test is an error. */
export function registerCases<C extends { readonly name: string }>(
  contract: string,
  subject: Conformance<unknown>,
  cases: readonly C[],
  run: (one: C) => void,
  skips: (one: C) => string | undefined = () => undefined,
): void {
  for (const skipped of subject.skip ?? []) {
    if (!cases.some(({ name }) => name === skipped.test))
      throw new Error(`The ${contract} suite has no test "${skipped.test}" that could be skipped.`);
  }
  describe(`${contract} contract: ${subject.name}`, () => {
    for (const one of cases) {
      const reason = subject.skip?.find((skipped) => skipped.test === one.name)?.reason ?? skips(one);
      if (reason === undefined) run(one);
      else test.skip(`${one.name} (skipped: ${reason})`, () => {});
    }
  });
}

/** The same for what may be opened again. */
export function registerReopening<T extends AsyncDisposable>(
  contract: string,
  subject: Reopening<T>,
  cases: readonly ReopeningCase<T>[],
): void {
  registerCases(
    contract,
    subject,
    cases,
    ({ name, run }) =>
      test(name, async () => {
        await using opened = await subject.create();
        await run(opened, (old) => subject.reopen?.(old) ?? Promise.reject(new Error("reopen is missing")));
      }),
    ({ reopens }) => (reopens && subject.reopen === undefined ? "it keeps nothing, so it cannot be opened again" : undefined),
  );
}
