/** A write that cannot be made: whoever waits for it is told, and what comes later is not kept from being written. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { process, stopped } from "../../test/support/processes.ts";
import { orphans, said, says } from "../../test/support/said.ts";
import { placeOf } from "../session/value.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import type { Writer } from "./writer.ts";

afterEach(stopped);

// Mutant: a write that is over before anybody waits for it is taken for one that is under way (whoever writes next never comes back).
test("one that fails before anything is sent is told, and the next one goes", async () => {
  const store = memoryStore();
  const here = process(store);
  const session = await here.save(here.session("begin"));
  const { writer } = (placeOf(session).context.host as unknown as { readonly effects: { readonly writer: Writer } }).effects;
  const { beforeWrite } = writer;
  writer.beforeWrite = () => {
    throw new Error("the key is gone");
  };
  const draft = session.say("draft");
  await expect(here.save(draft)).rejects.toThrow("the key is gone");
  writer.beforeWrite = beforeWrite;
  await here.save(draft);
  expect(await said(store, "draft")).toBe(1);
});

// Mutant: what stands on a write that was given up is written without it.
test("one that is refused for good is told to whoever saves a fork of it, and nothing stands on what is not there", async () => {
  const store = memoryStore();
  let taken = true;
  const append: Store["append"] = async (write) => {
    if (!taken || !says(write, "draft")) return store.append(write);
    await sleep(10);
    const session = write.branches.find(({ expectedHead }) => expectedHead === undefined)?.session as string;
    return { ok: false, reason: "head", session, head: "f".repeat(64) };
  };
  const here = process({ ...store, append });
  const draft = here.session("draft");
  const saving = [here.save(draft)];
  await sleep(1);
  const forked = draft.fork("f").say("forked");
  const other = here.session("something else");
  saving.push(here.save(forked));
  for (const save of saving) await expect(save).rejects.toMatchObject({ code: "store.conflict" });
  await here.save(other);
  expect([await orphans(store), await said(store, "forked")]).toEqual([[], 0]);
  taken = false;
  await here.save(forked);
  expect([await orphans(store), await said(store, "draft"), await said(store, "forked")]).toEqual([[], 1, 1]);
});
