import { describe, expect, test } from "vitest";
import type { RunResource } from "../../../../src/client/client.ts";
import { madeAt, stuckWhy } from "./stuck.ts";

const now = new Date("2026-01-01T12:00:00Z");
const run = (status: RunResource["status"], more: Partial<RunResource> = {}): RunResource => ({
  ...{ id: "r", workflow: "w", session: "s", status },
  ...more,
});

describe("a run is stuck", () => {
  test("when it runs and nobody holds it", () => {
    expect(stuckWhy({ run: run("running") }, now)).toMatch(/no worker/);
    expect(stuckWhy({ run: run("running", { owner: "host:1:a" }) }, now)).toBeUndefined();
  });
  test("when it waits for an effect with an unknown outcome, and not when it waits for anything else", () => {
    expect(stuckWhy({ run: run("waiting"), pending: [{ kind: "timer" }, { kind: "unknown" }] }, now)).toMatch(/no result/);
    expect(stuckWhy({ run: run("waiting"), pending: [{ kind: "approval" }] }, now)).toBeUndefined();
  });
  test("when nobody takes it for long", () => {
    expect(stuckWhy({ run: run("queued"), since: "2026-01-01T11:50:00Z" }, now)).toMatch(/taken it/);
    expect(stuckWhy({ run: run("queued"), since: "2026-01-01T11:59:50Z" }, now)).toBeUndefined();
    expect(stuckWhy({ run: run("queued") }, now)).toBeUndefined();
  });
  test("and never when it has ended", () => {
    for (const status of ["done", "failed", "cancelled"] as const)
      expect(stuckWhy({ run: run(status), pending: [{ kind: "unknown" }] }, now)).toBeUndefined();
  });
});

test("the id of a run says when it was made, unless it comes from a key", () => {
  expect(madeAt("019b76da-a800-7216-81eb-2f84a62c3076")).toBe("2026-01-01T00:00:00.000Z");
  expect(madeAt("87db0ebb-311e-806d-8be4-1fb4df17b02a")).toBeUndefined();
  expect(madeAt("x")).toBeUndefined();
});
