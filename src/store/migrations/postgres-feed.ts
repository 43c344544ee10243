/**
 * The feed: frames in an order in which none can appear before one that was read.
 *
 * Numbers alone do not give that: transactions commit in another order than they take numbers. So a frame also has the id of the
 * transaction that stored it, frames are ordered by both, and they are read only as far as every transaction has ended. A frame
 * whose parent is known was stored by a later transaction, so that parents come first.
 */

/** What was there before is fed by log and position. It has the first numbers, and so have those that are stored next: their `xid` tells them apart. */
export const feed = `
CREATE SEQUENCE openrath.feed_numbers;
ALTER TABLE openrath.frames ADD COLUMN xid xid8 NOT NULL DEFAULT '0', ADD COLUMN no bigint NOT NULL DEFAULT 0;
UPDATE openrath.frames f SET xid = '0', no = o.no
  FROM (SELECT log, seq, row_number() OVER (ORDER BY no, log, seq) AS no FROM openrath.frames) o WHERE f.log = o.log AND f.seq = o.seq;
ALTER TABLE openrath.frames ALTER COLUMN xid SET DEFAULT pg_current_xact_id(), ALTER COLUMN no SET DEFAULT nextval('openrath.feed_numbers');
CREATE UNIQUE INDEX frames_fed ON openrath.frames (xid, no);
`;
