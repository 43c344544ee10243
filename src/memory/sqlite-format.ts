/**
 * The format of a memory's file. Released steps are never changed; a new format adds one.
 *
 * `items` has a row for each version, narrow, since every search looks at many; `until` is the revision that superseded it.
 * `bodies.words` tells how often the item has each word, `bodies.body` is the item itself. `word_index` is asked which items have a word;
 * it keeps no text and gets words that are split and folded already, so its tokeniser has nothing to decide: any byte above
 * ASCII is part of a word to it. `revisions` has running totals of what is published.
 */
import type { Format } from "../sqlite/format.ts";

const first = `
CREATE TABLE revisions (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  revision INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (tenant, project, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  revision INTEGER NOT NULL,
  until INTEGER,
  uri TEXT NOT NULL,
  version INTEGER NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,
  origin TEXT NOT NULL,
  trust TEXT NOT NULL,
  event TEXT NOT NULL,
  at TEXT NOT NULL,
  expires INTEGER,
  length INTEGER NOT NULL,
  UNIQUE (tenant, project, uri, version),
  UNIQUE (tenant, project, event, uri)
) STRICT;
CREATE UNIQUE INDEX items_newest ON items (tenant, project, uri) WHERE until IS NULL;
CREATE INDEX items_key ON items (tenant, project, key);

CREATE TABLE bodies (
  no INTEGER PRIMARY KEY,
  words TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE word_index USING fts5(key, content, content = '', tokenize = "ascii tokenchars '.'");
INSERT INTO word_index (word_index, rank) VALUES ('rank', 'bm25(2.0, 1.0)');

CREATE TABLE vectors (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  model TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE evidence (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  no INTEGER NOT NULL,
  PRIMARY KEY (tenant, project, kind, name, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE uses (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  uri TEXT NOT NULL,
  version INTEGER NOT NULL,
  session TEXT NOT NULL,
  event TEXT NOT NULL,
  at TEXT NOT NULL,
  UNIQUE (tenant, project, uri, version, session, event)
) STRICT;
CREATE INDEX uses_at ON uses (tenant, project, uri, at);
`;

/** The mark is "RthM". */
export const memoryFormat: Format = { applicationId: 0x5274684d, steps: [first], opener: "sqliteMemory" };
