import { expect, test } from "vitest";
import { standingOf } from "./standing.ts";

const owner = "box:1:a";

test("a session stands as the run on it that is busiest, and a run without a worker is not at work", () => {
  expect(standingOf("failed", [])).toBe("failed");
  expect(standingOf("idle", [{ status: "queued" }, { status: "waiting" }, { status: "running", owner }])).toBe("running");
  expect(standingOf("idle", [{ status: "queued" }, { status: "waiting" }, { status: "running" }])).toBe("waiting");
  expect(standingOf("idle", [{ status: "done" }, { status: "queued" }])).toBe("queued");
  expect(standingOf("idle", [{ status: "running" }])).toBe("idle");
});
