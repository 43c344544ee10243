import { expect, it, vi } from "vitest";
import { openrath } from "../openrath.ts";
import { lineageEvents } from "./lineage-events.ts";

it("has calls on branches in the order in which they were made, however the clock ticks between them", async () => {
  // Prepared and called "a" in one millisecond, called "b" in the next one; both returned later.
  let now = 1_700_000_000_000;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now);
  try {
    await using rath = openrath({ store: "memory" });
    const begun = await rath.session("Choose").do("prepare", () => 0);
    const a = begun.fork("a").do("try a", () => new Promise((done) => setTimeout(done, 5)));
    now++;
    const b = begun.fork("b").do("try b", () => new Promise((done) => setTimeout(done, 5)));
    now++;
    await b;
    const events = await lineageEvents(await a);
    const called = events.flatMap(({ kind, data }) => (kind === "do.called" ? [(data as { readonly name: string }).name] : []));
    expect(called).toEqual(["prepare", "try a", "try b"]);
  } finally {
    clock.mockRestore();
  }
});
