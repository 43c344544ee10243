/** An erased four-digit PIN cannot be found by trying all of them. */
import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { contentsOf } from "../../test/support/contents.ts";
import { verify } from "../audit/verify.ts";
import { Agent } from "../index.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import { dataText } from "../session/codec.ts";
import { type Platform, saltBytes } from "../session/platform.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { collect } from "../testing/store-case.ts";
import { tool } from "../tool/tool.ts";
import { nodePlatform } from "./platform.ts";

const pin = "4711";
const open = tool({ name: "open", description: "Opens.", input: z.object({ pin: z.string() }), run: () => "opened" });
const unsalted: Platform = { ...nodePlatform, salted: (text) => Buffer.concat([Buffer.alloc(saltBytes), Buffer.from(text)]) };

/** Everything that is stored, as one text: envelopes, data, ids, rows of logs and runs. */
async function everything(store: Store): Promise<string> {
  let all = JSON.stringify([await collect(store.runs({})), await collect(store.sessions({}))]);
  for (const { id } of await collect(store.sessions({})))
    for (const event of await collect(store.events({ session: id })))
      all += `${event.id} ${event.erased} ${Buffer.from(event.envelope)} ${Buffer.from(event.data?.subarray(saltBytes) ?? "")}\n`;
  // The names of blobs, and what they hold.
  for await (const { hash: name } of store.sweep?.({ before: "9999", dryRun: true, keeping: async () => () => false }) ?? [])
    all += `${name} ${Buffer.from((await store.blob(name)) ?? "").toString("latin1")}\n`;
  return all;
}

/** The PINs whose guessed data, unsalted or salted with nothing, has a digest that is found somewhere. */
function guess(all: string, templates: readonly string[]): string[] {
  const digests = new Set(all.match(/[0-9a-f]{64}/g));
  const found = new Set<string>();
  for (let n = 0; n < 10_000; n++) {
    const tried = String(n).padStart(4, "0");
    for (const template of [pin, ...templates]) {
      const text = template.replaceAll(pin, tried);
      const forms = [Buffer.from(text), Buffer.concat([Buffer.alloc(saltBytes), Buffer.from(text)])];
      if (forms.some((form) => digests.has(hash("sha256", form)))) found.add(tried);
    }
  }
  return [...found];
}

async function erased(platform: Platform): Promise<{ readonly all: string; readonly templates: readonly string[]; readonly ok: boolean }> {
  const store = memoryStore();
  await using rath = composeRath({ store: { ...store, [Symbol.asyncDispose]: async () => {} } }, { platform });
  const agent = new Agent({
    name: "clerk",
    instructions: `The PIN of the safe is ${pin}.`,
    tools: [open],
    model: scripted({ text: `I try ${pin}.`, calls: [{ tool: "open", input: { pin } }] }, { text: "It is open." }),
  });
  const session: Session = await agent.forward(rath.session(`My PIN is ${pin}`, { title: `PIN ${pin}` }));
  await rath.save(session);
  const templates: string[] = [];
  for (const { id } of await collect(store.sessions({})))
    for (const { data } of await collect(store.events({ session: id }))) if (data !== undefined) templates.push(dataText(platform, data));
  const report = await rath.erase({ matching: pin }, { by: "human:ada", reason: "a PIN was pasted" });
  expect(report.left).toEqual([]);
  const { ok } = await verify(await rath.open(session.id));
  return { all: await everything(store), templates: templates.filter((text) => text.includes(pin)), ok };
}

test("an erased PIN is nowhere, and cannot be found by brute force", async () => {
  const { all, templates, ok } = await erased(nodePlatform);
  expect(ok).toBe(true);
  expect(templates.length).toBeGreaterThan(3);
  expect(contentsOf(all)).not.toContain(pin);
  expect(guess(all, templates)).toEqual([]);
});

test("without a salt it would be found", async () => {
  const { all, templates } = await erased(unsalted);
  expect(guess(all, templates)).toEqual([pin]);
});
