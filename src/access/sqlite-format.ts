/**
 * The format of the file with keys and the access log. Released steps are never changed; a new format adds one.
 *
 * Of a key only the hash of its secret is here. Entries of callers nobody knows have no tenant and no project.
 */
import type { Format } from "../sqlite/format.ts";

const first = `
CREATE TABLE keys (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  hash TEXT NOT NULL,
  identity TEXT NOT NULL,
  roles TEXT NOT NULL,
  permissions TEXT,
  created TEXT NOT NULL,
  made_by TEXT NOT NULL,
  replaces TEXT,
  expires TEXT,
  revoked TEXT,
  used TEXT
) STRICT;
CREATE INDEX keys_scope ON keys (tenant, project, no);

CREATE TABLE entries (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT,
  project TEXT,
  at TEXT NOT NULL,
  request TEXT NOT NULL,
  key TEXT,
  identity TEXT,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  about TEXT,
  status INTEGER NOT NULL,
  code TEXT
) STRICT;
CREATE INDEX entries_scope ON entries (tenant, project, no);
`;

/** The mark is "RthA". */
export const accessFormat: Format = { applicationId: 0x52746841, steps: [first], opener: "sqliteAccess" };
