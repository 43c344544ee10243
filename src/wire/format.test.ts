import { describe, expect, test } from "vitest";
import { ago, count, money, plural, seconds, shortener, size } from "./format.ts";

describe("shortened ids", () => {
  test("are as long as it takes to tell all of them apart, and never end in a dash", () => {
    const ids = ["01a1de2c-6b6f-7518", "01a1de2c-6908-76b6", "728642bb-e0aa-8000"];
    const short = shortener(ids);
    expect(ids.map(short)).toEqual(["01a1de2c-6b", "01a1de2c-69", "728642bb-e0"]);
    expect(new Set(ids.map(short)).size).toBe(ids.length);
  });
  test("have eight characters when that is enough", () => {
    expect(shortener(["aaaaaaaa-1", "bbbbbbbb-1"])("aaaaaaaa-1")).toBe("aaaaaaaa");
    expect(shortener([])("aaaaaaaa-1")).toBe("aaaaaaaa");
  });
});

test("numbers read well", () => {
  expect([count(1234567), count(999), money(0), money(0.0042), money(12.5)]).toEqual(["1 234 567", "999", "$0.00", "$0.0042", "$12.50"]);
  expect([plural(1, "event"), plural(2, "branch"), plural(0, "entry"), plural(2, "sandbox")]).toEqual([
    "1 event",
    "2 branches",
    "0 entries",
    "2 sandboxes",
  ]);
  expect([size(0), size(1023), size(1536), size(200 * 1024), size(5 * 2 ** 30)]).toEqual(["0 B", "1023 B", "1.5 kB", "200 kB", "5.0 GB"]);
});

test("times read well", () => {
  expect([seconds(12), seconds(1500), seconds(61_000), seconds(3_720_000)]).toEqual(["12 ms", "1.5 s", "1 min 1 s", "1 h 2 min"]);
  const now = new Date("2026-03-01T00:00:00Z");
  const before = (s: number): string => new Date(now.getTime() - s * 1000).toISOString();
  expect([5, 90, 7200, 86_400 * 3].map((s) => ago(before(s), now))).toEqual(["5s ago", "1m ago", "2h ago", "3d ago"]);
  expect(ago("2025-01-01T00:00:00Z", now)).toBe("2025-01-01");
});
