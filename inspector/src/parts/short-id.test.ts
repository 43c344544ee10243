import { expect, it } from "vitest";
import { shortId } from "./short-id.ts";

it("tells sessions apart that one process began in the same millisecond", () => {
  const ids = ["01a1e587-5f75-7091-bfed-0952bde8945c", "01a1e587-5f75-7091-bfed-0f0855c2e76b", "01a1e587-5f75-7091-bfed-117f7c5e6882"];
  expect(ids.map(shortId)).toEqual(["01a1e587-5f75-7091-bfed-09", "01a1e587-5f75-7091-bfed-0f", "01a1e587-5f75-7091-bfed-11"]);
});

it("is short for forks", () => {
  expect(shortId("5d8f9c1e-70a1-8c3b-9f00-0123456789ab")).toBe("5d8f9c1e");
});
