/**
 * The tables of memories in a PostgreSQL database. Released steps are never changed; a new format adds one.
 *
 * `memory_projects` has one row for each project, which every write counts up and so locks until it is committed: revisions have the order
 * of their commits. `memory_revisions` has running totals of what was published. `memory_items` has a row for each version, narrow, since
 * every search looks at many; `until` is the revision that superseded it. It is unique in the version that it is based on: of two writes
 * over the same version the second cannot be inserted. `memory_words` tells which published versions have a word, and how often.
 *
 * Columns that are looked up hold names (`nameOf`): whatever the text, an index can hold it. Texts are compared byte by byte.
 */
import type { Format } from "../postgres/format.ts";

const first = `
CREATE TABLE openrath.memory_projects (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  revision bigint NOT NULL DEFAULT 0,
  items bigint NOT NULL DEFAULT 0,
  documents bigint NOT NULL DEFAULT 0,
  length bigint NOT NULL DEFAULT 0,
  UNIQUE (tenant, project)
) WITH (fillfactor = 50);

CREATE TABLE openrath.memory_revisions (
  project bigint NOT NULL,
  revision bigint NOT NULL,
  documents bigint NOT NULL,
  length bigint NOT NULL,
  PRIMARY KEY (project, revision)
);

CREATE TABLE openrath.memory_items (
  project bigint NOT NULL,
  no bigint NOT NULL,
  revision bigint NOT NULL,
  until bigint,
  name text COLLATE "C" NOT NULL,
  uri text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  based bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  state text NOT NULL,
  origin text NOT NULL,
  trust text NOT NULL,
  event text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  expires double precision,
  length bigint NOT NULL,
  PRIMARY KEY (project, no),
  UNIQUE (project, name, based),
  UNIQUE (project, event, name)
) WITH (fillfactor = 90);
CREATE INDEX memory_items_key ON openrath.memory_items (project, key);

CREATE TABLE openrath.memory_bodies (
  project bigint NOT NULL,
  no bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (project, no)
);

CREATE TABLE openrath.memory_words (
  project bigint NOT NULL,
  word text COLLATE "C" NOT NULL,
  no bigint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (project, word, no) INCLUDE (count)
);

CREATE TABLE openrath.memory_vectors (
  project bigint NOT NULL,
  no bigint NOT NULL,
  model text COLLATE "C" NOT NULL,
  size integer NOT NULL,
  comparable boolean NOT NULL,
  body real[] NOT NULL,
  PRIMARY KEY (project, no)
);
CREATE INDEX memory_vectors_model ON openrath.memory_vectors (project, model, size, no);

CREATE TABLE openrath.memory_evidence (
  project bigint NOT NULL,
  kind text NOT NULL,
  name text COLLATE "C" NOT NULL,
  no bigint NOT NULL,
  PRIMARY KEY (project, kind, name, no)
);

CREATE TABLE openrath.memory_uses (
  no bigint GENERATED ALWAYS AS IDENTITY,
  project bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (project, id)
);
CREATE INDEX memory_uses_at ON openrath.memory_uses (project, name, at, no);

DO $vector$ BEGIN
  CREATE EXTENSION IF NOT EXISTS vector;
EXCEPTION WHEN OTHERS THEN
  NULL; -- Not there, or not for this user. What is missing is speed.
END $vector$;
`;

export const memoryFormat: Format = { family: "memory", steps: [first], opener: "postgresMemory" };
