/**
 * Tables of the first format. Every row that is found by name carries tenant and project.
 *
 * `frames.place` is the number of the log times 2^24 plus the position of the frame's first event in the log. It is a rowid,
 * since a table WITHOUT ROWID puts rows over about 1 KB on pages of their own, and it is the compare-and-set of an append.
 * `frames.writer` names a row of `writers` (0: no run), which also tells which logs a run wrote to.
 */
export const first = `
CREATE TABLE logs (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  log TEXT NOT NULL,
  parent TEXT,
  run TEXT,
  title TEXT,
  tags TEXT NOT NULL,
  principal TEXT,
  created INTEGER NOT NULL,
  seal INTEGER NOT NULL,
  UNIQUE (tenant, project, id)
) STRICT;
CREATE INDEX logs_parent ON logs (tenant, project, parent) WHERE parent IS NOT NULL;

CREATE TABLE frames (
  place INTEGER PRIMARY KEY,
  writer INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

CREATE TABLE writers (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  run TEXT NOT NULL,
  log INTEGER NOT NULL,
  ordered INTEGER NOT NULL,
  UNIQUE (tenant, project, run, log)
) STRICT;

CREATE TABLE runs (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  key TEXT,
  session TEXT NOT NULL,
  workflow TEXT NOT NULL,
  status TEXT NOT NULL,
  wake_at TEXT,
  owner TEXT,
  epoch INTEGER NOT NULL,
  lease_expires INTEGER,
  UNIQUE (tenant, project, id)
) STRICT;
CREATE UNIQUE INDEX runs_key ON runs (tenant, project, key) WHERE key IS NOT NULL;
CREATE INDEX runs_status ON runs (tenant, project, status);
CREATE INDEX runs_due ON runs (tenant, project, wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE blobs (
  no INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  hash BLOB NOT NULL,
  deflated INTEGER NOT NULL,
  touched_at INTEGER NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (tenant, hash)
) STRICT;

CREATE TABLE event_ids (
  prefix INTEGER NOT NULL,
  place INTEGER NOT NULL,
  PRIMARY KEY (prefix, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE indexed (
  log INTEGER PRIMARY KEY,
  place INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;
INSERT INTO meta (name, value) VALUES ('tick', 0);
`;
