import assert from "node:assert/strict";
import { test } from "node:test";
import { slugify } from "./slugify.js";

test("words are joined by dashes", () => assert.equal(slugify("Hello World"), "hello-world"));
test("the example of the issue", () => assert.equal(slugify("Ça va, World!"), "ca-va-world"));
test("other accents", () => assert.equal(slugify("Crème brûlée"), "creme-brulee"));
test("an accent as a code point of its own", () => assert.equal(slugify("Cre\u0300me bru\u0302le\u0301e"), "creme-brulee"));
