/** A store that cannot tell of changes now may be able to a moment later. */
import { expect, test } from "vitest";
import { kept, until } from "../../test/support/other-process.ts";
import { memoryStore } from "../store/memory.ts";
import type { News } from "../store/store.ts";
import { Hints } from "./hints.ts";
import type { Services } from "./services.ts";

test("a store that could not be listened to at first is listened to later, and what was missed is looked for", async () => {
  const warned: string[] = [];
  let tell: (news: News) => void = () => {};
  let tried = 0;
  let closed = 0;
  const store = {
    ...kept(memoryStore()),
    watch: async (hear: (news: News) => void) => {
      if (++tried < 3) throw new Error("sorry, too many clients already");
      tell = hear;
      return { [Symbol.asyncDispose]: async () => void closed++ };
    },
  };
  const hints = new Hints({ store: async () => store, warn: (text: string) => warned.push(text) } as unknown as Services);
  const heard: News[] = [];
  const words: unknown[] = [];
  let opened = 0;
  hints.onWords(
    (some) => words.push(some),
    () => opened++,
  );
  const unlisten = hints.listen((news) => heard.push(news));
  await until("the third attempt", () => tried === 3 && heard.length > 0);
  expect(warned).toEqual([expect.stringMatching(/too many clients already.*by looking/)]);
  expect({ heard, opened }).toEqual({ heard: [{ due: true, logs: [] }], opened: 1 });
  tell({ due: false, logs: ["s"] });
  tell({ due: false, logs: [], words: "w" });
  unlisten();
  tell({ due: true, logs: [] });
  expect({ heard: heard.slice(1), words }).toEqual({ heard: [{ due: false, logs: ["s"] }], words: ["w"] });
  await hints.close();
  expect(closed).toBe(1);
});

test("closing does not wait for a store that never tells", async () => {
  const store = { ...kept(memoryStore()), watch: () => Promise.reject(new Error("no")) };
  let warned = 0;
  const hints = new Hints({ store: async () => store, warn: () => warned++ } as unknown as Services);
  hints.listen(() => {});
  await until("the first attempt", () => warned === 1);
  // It would ask again after 200 ms. To close takes no turn of the loop, in which a busy machine could be late.
  let late = false;
  const timer = setTimeout(() => {
    late = true;
  }, 100);
  await hints.close();
  clearTimeout(timer);
  expect(late).toBe(false);
});
