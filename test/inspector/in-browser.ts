/** Tests in a real browser: one browser for a file of them, and the stage that they look at or change. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { builtInspector } from "../support/built.ts";
import { borrow } from "../support/lender.ts";
import { launch, noChromium, type Opened, open, type Sight } from "./browser.ts";
import type { Looked } from "./stage.ts";

/** The stage that all files of a run share: whoever changes something builds another. */
export async function sharedStage(): Promise<Looked> {
  return JSON.parse(await borrow(inject("stagePort"))) as Looked;
}

/** For tests that serve something else. */
export function noStage(): Promise<undefined> {
  return Promise.resolve(undefined);
}

export interface There<S> {
  readonly stage: S;
  /** A place of the inspector as an address of the stage. */
  at(place: string): string;
  /** A page that is watched; at this place of the stage, or at this address, if one is given. */
  open(place?: string, sight?: Sight): Promise<Opened>;
}

/** Describes tests that see a stage in a browser; skipped, and said so, where there is none. */
export function inBrowser<S extends Partial<Looked> | undefined>(
  name: string,
  stageOf: () => Promise<S>,
  tests: (there: There<S>) => void,
): void {
  if (noChromium !== undefined) console.log(`skipped: ${name}: ${noChromium}`);
  describe.skipIf(noChromium !== undefined)(name, { timeout: 120_000 }, () => {
    let browser: Browser;
    let stage: S;
    beforeAll(async () => {
      [browser, stage] = await Promise.all([launch(), stageOf(), builtInspector()]);
    }, 180_000);
    afterAll(async () => {
      await browser?.close();
      if (stage !== undefined && Symbol.asyncDispose in stage) await (stage as unknown as AsyncDisposable)[Symbol.asyncDispose]();
    });
    const at = (place: string): string => (place.startsWith("http") ? place : `${stage?.url}/#/${place}`);
    tests({
      get stage() {
        return stage;
      },
      at,
      async open(place, sight) {
        const opened = await open(browser, sight);
        if (place !== undefined) await opened.page.goto(at(place));
        return opened;
      },
    });
  });
}
