import assert from "node:assert/strict";
import { test } from "node:test";
import { search } from "./search.js";

const places = ["Café Central", "Crêperie du Port", "Zum Anker"];

test("upper and lower case do not matter", () => assert.deepEqual(search(places, "ANKER"), ["Zum Anker"]));
test("the example of the issue", () => assert.deepEqual(search(places, "cafe"), ["Café Central"]));
test("other accents", () => assert.deepEqual(search(places, "creperie"), ["Crêperie du Port"]));
test("an accent as a code point of its own", () => assert.deepEqual(search(places, "cafe\u0301"), ["Café Central"]));
