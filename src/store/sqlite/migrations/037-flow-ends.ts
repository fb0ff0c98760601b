import type { Migration } from './migration.ts'

/**
 * Every way in which a task ends passes here. 'flow' is null for a task that nobody waits for, and the triggers do nothing then. 0: it waits
 * for others, or others wait for it. Otherwise: the flow that it was enqueued in.
 */
export const flowEnds: Migration = {
  version: 37,
  name: 'flow ends',
  sql: `
ALTER TABLE gleaner_tasks ADD COLUMN flow INTEGER;

CREATE TABLE gleaner_flow_news (
  id   INTEGER PRIMARY KEY,
  task INTEGER, -- it ended, runs again or is gone
  flow INTEGER  -- the one that it was enqueued in. Without a task: nothing needs it any more
) STRICT;

CREATE TRIGGER gleaner_task_ended AFTER UPDATE OF finished_at ON gleaner_tasks
WHEN NEW.flow IS NOT NULL AND (OLD.finished_at IS NULL) <> (NEW.finished_at IS NULL) BEGIN
  INSERT INTO gleaner_flow_news (task, flow) VALUES (NEW.id, NEW.flow);
END;

CREATE TRIGGER gleaner_task_removed AFTER DELETE ON gleaner_tasks WHEN OLD.flow IS NOT NULL BEGIN
  UPDATE gleaner_flow_members SET status = CASE WHEN OLD.finished_at IS NULL THEN 'removed' ELSE OLD.status END,
    result = CASE WHEN (SELECT f.done FROM gleaner_flows f WHERE f.id = gleaner_flow_members.flow) = 0 THEN OLD.result END, error = OLD.error WHERE flow = OLD.flow AND task = OLD.id;
  UPDATE gleaner_flow_members SET status = CASE WHEN OLD.finished_at IS NULL THEN 'removed' ELSE OLD.status END,
    result = CASE WHEN (SELECT f.done FROM gleaner_flows f WHERE f.id = gleaner_flow_members.flow) = 0 THEN OLD.result END, error = OLD.error WHERE task = OLD.id AND joined = 1;
  INSERT INTO gleaner_flow_news (task, flow) VALUES (OLD.id, OLD.flow);
END;

CREATE TRIGGER gleaner_children_dropped AFTER DELETE ON gleaner_steps WHEN OLD.kind = 'children' BEGIN
  INSERT INTO gleaner_flow_news (task, flow) VALUES (NULL, CAST(OLD.value AS INTEGER));
END;
`,
}
