/**
 * Runs that workers take: `priority`, and since when a run has news (`woken_at`). `due_at` is since when it may go on, whichever of
 * news and its own time came first.
 *
 * Free and held runs are indexed apart, so that whoever looks for work meets neither the runs others are busy with nor those that
 * wait for a later time. Free ones are indexed by time, for the few that are due, and by urgency, for a backlog.
 */
export const due = `
ALTER TABLE runs ADD COLUMN priority REAL NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN woken_at TEXT;
ALTER TABLE runs ADD COLUMN due_at TEXT GENERATED ALWAYS AS (min(coalesce(wake_at, woken_at), coalesce(woken_at, wake_at))) VIRTUAL;
CREATE INDEX runs_free ON runs (tenant, project, workflow, due_at) WHERE owner IS NULL AND due_at IS NOT NULL;
CREATE INDEX runs_urgent ON runs (tenant, project, workflow, priority, due_at) WHERE owner IS NULL AND due_at IS NOT NULL;
CREATE INDEX runs_held ON runs (tenant, project, lease_expires) WHERE owner IS NOT NULL;
CREATE INDEX runs_woken ON runs (tenant, project) WHERE woken_at IS NOT NULL;
`;
