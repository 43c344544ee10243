/**
 * Tables of the first format in PostgreSQL, and the function that appends. Every row that is found by name carries tenant and project.
 *
 * `frames (log, seq)` is the place of a frame, seq the position of its first event, and the compare-and-set of an append: whoever
 * appends after a head that is not the newest any more collides on it. `runs.due_at` is since when a free run may go on, whichever of
 * news and its own time came first, and until when a held one is held. Names are compared by their bytes (COLLATE "C").
 */
const tables = `
CREATE TABLE openrath.logs (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  log text NOT NULL,
  parent text COLLATE "C",
  run text COLLATE "C",
  title text,
  tags text[] NOT NULL,
  principal text,
  created timestamptz NOT NULL,
  UNIQUE (tenant, project, id)
);
CREATE INDEX logs_parent ON openrath.logs (tenant, project, parent) WHERE parent IS NOT NULL;

CREATE TABLE openrath.frames (
  log bigint NOT NULL,
  seq integer NOT NULL,
  count integer NOT NULL,
  first_step bigint NOT NULL,
  last_step bigint NOT NULL,
  first_order bigint NOT NULL,
  last_order bigint NOT NULL,
  run text COLLATE "C",
  head bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (log, seq)
);
CREATE INDEX frames_run ON openrath.frames (run, first_order) WHERE run IS NOT NULL;

CREATE TABLE openrath.event_ids (
  prefix bigint NOT NULL,
  log bigint NOT NULL,
  seq integer NOT NULL,
  PRIMARY KEY (prefix, log, seq)
);

CREATE TABLE openrath.runs (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  session text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  status text NOT NULL,
  wake_at timestamptz,
  priority double precision NOT NULL DEFAULT 0,
  woken_at timestamptz,
  owner text COLLATE "C",
  epoch bigint NOT NULL DEFAULT 0,
  lease_expires timestamptz,
  due_at timestamptz GENERATED ALWAYS AS (CASE WHEN owner IS NULL THEN least(wake_at, woken_at) ELSE lease_expires END) STORED,
  UNIQUE (tenant, project, id)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX runs_key ON openrath.runs (tenant, project, key) WHERE key IS NOT NULL;
CREATE INDEX runs_status ON openrath.runs (tenant, project, status);
CREATE INDEX runs_due ON openrath.runs (tenant, project, priority, due_at, no) WHERE due_at IS NOT NULL;
CREATE INDEX runs_owner ON openrath.runs (tenant, project, owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_woken ON openrath.runs (tenant, project, no) WHERE woken_at IS NOT NULL;

CREATE TABLE openrath.blobs (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  deflated boolean NOT NULL,
  touched_at timestamptz NOT NULL,
  body bytea NOT NULL,
  UNIQUE (tenant, hash)
);
ALTER TABLE openrath.blobs ALTER COLUMN body SET STORAGE EXTERNAL;
`;

/**
 * Several writes in one statement and so in one commit; gives, by number, the writes that were refused and why. No two of them name
 * the same log or run row. Each is judged as a whole before anything of it is stored. Places are those that were judged, never read
 * again: if somebody else appended meanwhile, the key of frames refuses the statement, and it is made again with the new heads.
 * The row of a run stays locked until the commit, so that whoever takes the run over waits for it.
 */
export const append = `
CREATE OR REPLACE FUNCTION openrath.append(t text, p text, batch jsonb, bodies bytea) RETURNS text LANGUAGE plpgsql AS $append$
DECLARE
  refused jsonb := '{}';
  nos bigint[];
  nexts integer[];
  heads text[];
  expected text[];
  wanted integer;
  found_rows integer;
BEGIN
  IF batch ? 'relaxed' THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;

  IF batch ? 'locks' THEN
    PERFORM 1 FROM openrath.runs WHERE tenant = t AND project = p AND id = ANY (ARRAY(SELECT jsonb_array_elements_text(batch->'locks')))
      ORDER BY id FOR NO KEY UPDATE;
  END IF;

  IF batch ? 'leases' THEN
    SELECT coalesce(jsonb_object_agg(l.entry, jsonb_build_object('epoch', coalesce(r.epoch, 0))), '{}') INTO refused
      FROM jsonb_to_recordset(batch->'leases') AS l(entry integer, run text, epoch bigint)
      LEFT JOIN LATERAL (SELECT runs.epoch FROM openrath.runs WHERE tenant = t AND project = p AND id = l.run FOR SHARE) r ON true
      WHERE r.epoch IS DISTINCT FROM l.epoch;
  END IF;

  IF batch ? 'branches' THEN
    SELECT array_agg(l.no ORDER BY b.i), array_agg(coalesce(f.next, 0) ORDER BY b.i), array_agg(coalesce(b.moved, encode(f.head, 'hex')) ORDER BY b.i), array_agg(b.expected ORDER BY b.i)
      INTO nos, nexts, heads, expected
      FROM jsonb_to_recordset(batch->'branches') AS b(i integer, session text, expected text, moved text)
      LEFT JOIN openrath.logs l ON l.tenant = t AND l.project = p AND l.id = b.session
      LEFT JOIN LATERAL (SELECT head, seq + count AS next FROM openrath.frames WHERE log = l.no ORDER BY seq DESC LIMIT 1) f ON true;
    IF heads IS DISTINCT FROM expected THEN
      SELECT coalesce(jsonb_object_agg(first.entry, jsonb_build_object('session', first.session, 'head', heads[first.i])), '{}') || refused INTO refused
        FROM (
          SELECT DISTINCT ON (b.entry) b.entry, b.i, b.session FROM jsonb_to_recordset(batch->'branches') AS b(i integer, entry integer, session text)
          WHERE heads[b.i] IS DISTINCT FROM expected[b.i] ORDER BY b.entry, b.i
        ) first;
    END IF;
  END IF;

  IF batch ? 'keys' THEN
    SELECT coalesce(jsonb_object_agg(k.entry, jsonb_build_object('holder', r.id)), '{}') || refused INTO refused
      FROM jsonb_to_recordset(batch->'keys') AS k(entry integer, run text, key text)
      JOIN openrath.runs r ON r.tenant = t AND r.project = p AND r.key = k.key AND r.id <> k.run;
  END IF;

  IF batch ? 'logs' THEN
    INSERT INTO openrath.logs (tenant, project, id, log, parent, run, title, tags, principal, created)
      SELECT t, p, n.session, n.log, n.parent, n.run, n.title, n.tags, n.principal, clock_timestamp()
      FROM jsonb_to_recordset(batch->'logs') AS n(i integer, entry integer, session text, log text, parent text, run text, title text, tags text[], principal text)
      WHERE NOT refused ? n.entry::text ORDER BY n.i;
  END IF;

  IF batch ? 'frames' THEN
    WITH placed AS MATERIALIZED (
      SELECT coalesce(nos[f.branch], (SELECT no FROM openrath.logs WHERE tenant = t AND project = p AND id = f.session)) AS log, nexts[f.branch] + f.after AS seq, f.*
      FROM jsonb_to_recordset(batch->'frames') AS f(entry integer, branch integer, session text, after integer, count integer, steps bigint[], orders bigint[], run text, head text, "at" integer, length integer, ids bigint[])
      WHERE NOT refused ? f.entry::text
    ), stored AS (
      INSERT INTO openrath.frames (log, seq, count, first_step, last_step, first_order, last_order, run, head, body)
        SELECT log, seq, count, steps[1], steps[2], orders[1], orders[2], run, decode(head, 'hex'), substring(bodies FROM "at" + 1 FOR length) FROM placed
    )
    INSERT INTO openrath.event_ids (prefix, log, seq) SELECT unnest(ids), log, seq FROM placed ON CONFLICT DO NOTHING;
  END IF;

  IF batch ? 'blobs' THEN
    PERFORM 1 FROM openrath.blobs WHERE tenant = t
      AND hash = ANY (ARRAY(SELECT decode(b.hash, 'hex') FROM jsonb_to_recordset(batch->'blobs') AS b(hash text))) ORDER BY hash FOR NO KEY UPDATE;
    SELECT count(*) INTO wanted FROM jsonb_to_recordset(batch->'blobs') AS b(entries integer[], length integer)
      WHERE b.length IS NULL AND EXISTS (SELECT 1 FROM unnest(b.entries) e WHERE NOT refused ? e::text);
    UPDATE openrath.blobs SET touched_at = clock_timestamp()
      FROM jsonb_to_recordset(batch->'blobs') AS b(entries integer[], hash text, length integer)
      WHERE blobs.tenant = t AND blobs.hash = decode(b.hash, 'hex') AND b.length IS NULL
        AND EXISTS (SELECT 1 FROM unnest(b.entries) e WHERE NOT refused ? e::text);
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows < wanted THEN RAISE EXCEPTION 'a blob was removed meanwhile' USING ERRCODE = 'RB001'; END IF;
    INSERT INTO openrath.blobs (tenant, hash, deflated, touched_at, body)
      SELECT t, decode(b.hash, 'hex'), b.deflated, clock_timestamp(), substring(bodies FROM b."at" + 1 FOR b.length)
      FROM jsonb_to_recordset(batch->'blobs') AS b(entries integer[], hash text, deflated boolean, "at" integer, length integer)
      WHERE b.length IS NOT NULL AND EXISTS (SELECT 1 FROM unnest(b.entries) e WHERE NOT refused ? e::text) ORDER BY b.hash
      ON CONFLICT (tenant, hash) DO UPDATE SET touched_at = excluded.touched_at;
  END IF;

  IF batch ? 'runs' THEN
    INSERT INTO openrath.runs AS old (tenant, project, id, key, session, workflow, status, wake_at, priority)
      SELECT t, p, r.id, r.key, r.session, r.workflow, r.status, r.wake_at, r.priority
      FROM jsonb_to_recordset(batch->'runs') AS r(entry integer, id text, key text, session text, workflow text, status text, wake_at timestamptz, priority double precision)
      WHERE NOT refused ? r.entry::text ORDER BY r.entry
      ON CONFLICT (tenant, project, id) DO UPDATE SET key = excluded.key, session = excluded.session, workflow = excluded.workflow,
        status = excluded.status, wake_at = excluded.wake_at, priority = excluded.priority;
  END IF;

  IF batch ? 'releases' THEN
    UPDATE openrath.runs SET owner = NULL, lease_expires = NULL
      FROM jsonb_to_recordset(batch->'releases') AS r(entry integer, run text)
      WHERE tenant = t AND project = p AND id = r.run AND NOT refused ? r.entry::text;
  END IF;

  IF batch ? 'wakes' THEN
    UPDATE openrath.runs SET woken_at = clock_timestamp()
      WHERE tenant = t AND project = p AND woken_at IS NULL
        AND id IN (SELECT w.run FROM jsonb_to_recordset(batch->'wakes') AS w(entry integer, run text) WHERE NOT refused ? w.entry::text);
  END IF;

  IF NOT (batch ?| ARRAY['wakes', 'runs']) THEN RETURN refused::text; END IF;
  IF EXISTS (SELECT 1 FROM jsonb_to_recordset(batch->'wakes') AS w(entry integer) WHERE NOT refused ? w.entry::text)
    OR EXISTS (SELECT 1 FROM jsonb_to_recordset(batch->'runs') AS r(entry integer, wake_at timestamptz, free boolean)
      WHERE r.free AND r.wake_at <= clock_timestamp() AND NOT refused ? r.entry::text)
  THEN PERFORM pg_notify('openrath.news', json_build_array(t, p)::text); END IF;

  RETURN refused::text;
END $append$;
`;

export const first = tables + append;
