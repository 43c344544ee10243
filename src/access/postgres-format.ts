/**
 * The tables of keys and of the access log in a PostgreSQL database. Released steps are never changed; a new format adds one.
 * Of a key only the hash of its secret is here. Entries of callers nobody knows have no tenant and no project.
 */
import type { Format } from "../postgres/format.ts";

const first = `
CREATE TABLE openrath.access_keys (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  tenant text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  identity text NOT NULL,
  roles text NOT NULL,
  permissions text,
  created text COLLATE "C" NOT NULL,
  made_by text NOT NULL,
  replaces text COLLATE "C",
  expires text COLLATE "C",
  revoked text COLLATE "C",
  used text COLLATE "C"
);
CREATE INDEX access_keys_scope ON openrath.access_keys (tenant, project, no);

CREATE TABLE openrath.access_entries (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C",
  project text COLLATE "C",
  at text COLLATE "C" NOT NULL,
  request text NOT NULL,
  key text COLLATE "C",
  identity text,
  method text NOT NULL,
  route text NOT NULL,
  about text,
  status integer NOT NULL,
  code text
);
CREATE INDEX access_entries_scope ON openrath.access_entries (tenant, project, no);
`;

export const accessFormat: Format = { family: "access", steps: [first], opener: "postgresAccess" };
