import { expect, test } from "vitest";
import { shownNames } from "./mcp-names.ts";

const names = (...tools: string[]) => shownNames([{ server: "s", tools }])[0] as ReadonlyMap<string, string>;

test("valid names are kept", () => {
  expect([...names("read_file", "a-b", "x".repeat(64)).values()]).toEqual(["read_file", "a-b", "x".repeat(64)]);
});

test("every name is valid and no two are alike, whatever is offered", () => {
  const shown = [...names("a.b", "a b", "a_b", "", "..", "名前", "x".repeat(65), "y".repeat(500), `${"x".repeat(65)}z`).values()];
  expect(shown).toHaveLength(9);
  expect(new Set(shown).size).toBe(9);
  for (const name of shown) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
});

test("a valid name belongs to the tool that has it, and order does not matter", () => {
  const one = names("a.b", "a_b", "a b");
  const other = names("a b", "a_b", "a.b");
  expect(one.get("a_b")).toBe("a_b");
  for (const [tool, name] of one) expect(other.get(tool)).toBe(name);
});

test("a server cannot take the name that another tool is given", () => {
  const given = names("a.b", "a_b").get("a.b") as string;
  const shown = names("a.b", "a_b", given);
  expect(shown.get(given)).toBe(given);
  expect(new Set(shown.values()).size).toBe(3);
});

test("the server's name is put before a name that two servers offer", () => {
  const [files, memory] = shownNames([
    { server: "files", tools: ["read", "list"] },
    { server: "my memory", tools: ["read", "search"] },
  ]);
  expect([...(files?.values() ?? [])]).toEqual(["files_read", "list"]);
  expect([...(memory?.values() ?? [])]).toEqual(["my_memory_read", "search"]);
});

test("a prefixed name gives way to a tool that is called so", () => {
  const shown = shownNames([
    { server: "a", tools: ["x"] },
    { server: "b", tools: ["x", "a_x"] },
  ]);
  expect(shown[1]?.get("a_x")).toBe("a_x");
  expect(shown[0]?.get("x")).toMatch(/^a_x_[0-9a-f]{8}$/);
});
