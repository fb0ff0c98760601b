import type { Migration } from './migration.ts'

/**
 * Every way in which a task ends passes here. 'flow' is null for a task that nobody waits for, and the triggers do nothing then. 0: it waits
 * for others, or others wait for it. Otherwise: the flow that it was enqueued in. The functions name the schema of all they use, so that
 * they need no search_path of their own, which would cost each call.
 */
export const flowEnds: Migration = {
  version: 37,
  name: 'flow ends',
  sql: (schema) => `
ALTER TABLE ${schema}.tasks ADD COLUMN flow bigint;

CREATE TABLE ${schema}.flow_news (
  id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task bigint, -- it ended, runs again or is gone
  flow bigint  -- the one that it was enqueued in. Without a task: nothing needs it any more
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE FUNCTION ${schema}.task_ended() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
     INSERT INTO ${schema}.flow_news (task, flow) VALUES (NEW.id, NEW.flow);
     RETURN NULL;
   END';
CREATE TRIGGER task_ended AFTER UPDATE OF finished_at ON ${schema}.tasks FOR EACH ROW
  WHEN (NEW.flow IS NOT NULL AND (OLD.finished_at IS NULL) <> (NEW.finished_at IS NULL))
  EXECUTE FUNCTION ${schema}.task_ended();

CREATE FUNCTION ${schema}.task_removed() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
     UPDATE ${schema}.flow_members SET status = CASE WHEN OLD.finished_at IS NULL THEN ''removed'' ELSE OLD.status END,
       result = CASE WHEN (SELECT f.done FROM ${schema}.flows f WHERE f.id OPERATOR(pg_catalog.=) flow_members.flow) OPERATOR(pg_catalog.=) 0 THEN OLD.result END, error = OLD.error WHERE flow OPERATOR(pg_catalog.=) OLD.flow AND task OPERATOR(pg_catalog.=) OLD.id;
     UPDATE ${schema}.flow_members SET status = CASE WHEN OLD.finished_at IS NULL THEN ''removed'' ELSE OLD.status END,
       result = CASE WHEN (SELECT f.done FROM ${schema}.flows f WHERE f.id OPERATOR(pg_catalog.=) flow_members.flow) OPERATOR(pg_catalog.=) 0 THEN OLD.result END, error = OLD.error WHERE task OPERATOR(pg_catalog.=) OLD.id AND joined OPERATOR(pg_catalog.=) 1;
     INSERT INTO ${schema}.flow_news (task, flow) VALUES (OLD.id, OLD.flow);
     RETURN NULL;
   END';
CREATE TRIGGER task_removed AFTER DELETE ON ${schema}.tasks FOR EACH ROW WHEN (OLD.flow IS NOT NULL)
  EXECUTE FUNCTION ${schema}.task_removed();

CREATE FUNCTION ${schema}.children_dropped() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
     INSERT INTO ${schema}.flow_news (task, flow) VALUES (NULL, OLD.value::bigint);
     RETURN NULL;
   END';
CREATE TRIGGER children_dropped AFTER DELETE ON ${schema}.steps FOR EACH ROW WHEN (OLD.kind = 'children')
  EXECUTE FUNCTION ${schema}.children_dropped();
`,
}
