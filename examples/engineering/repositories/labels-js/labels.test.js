import assert from "node:assert/strict";
import { test } from "node:test";
import { badge } from "./badge.js";
import { email } from "./email.js";
import { fileName } from "./file-name.js";
import { initials } from "./initials.js";
import { login } from "./login.js";
import { sortKey } from "./sort-key.js";

const guest = "Åsa O\u0308berg";

test("badge.js", () => assert.equal(badge(guest), "ASA OBERG"));
test("email.js", () => assert.equal(email(guest), "asa.oberg"));
test("file-name.js", () => assert.equal(fileName(guest), "Asa_Oberg.pdf"));
test("initials.js", () => assert.equal(initials(guest), "AO"));
test("login.js", () => assert.equal(login(guest), "asaobe"));
test("sort-key.js", () => assert.equal(sortKey(guest), "Oberg Asa"));
