/**
 * The feed: frames in the order in which they were committed. Writers of a file come one after the other, so numbers are given and
 * become visible in the same order. A trigger gives them, so that the most common append stays one statement. What was there before
 * is fed by log and position.
 *
 * `no` is never given twice: rows of removed frames stay until the file is scrubbed, and the newest one stays for good.
 */
export const feed = `
CREATE TABLE feed (
  no INTEGER PRIMARY KEY,
  place INTEGER NOT NULL
) STRICT;
INSERT INTO feed (place) SELECT place FROM frames ORDER BY place;
CREATE TRIGGER frames_fed AFTER INSERT ON frames BEGIN
  INSERT INTO feed (place) VALUES (new.place);
END;
`;
