/** A task of an open flow ended or is gone, the flow does not count it so, and no news of it waits to be read. */
export const UNHEARD = `
  SELECT m.task, CASE WHEN m.joined = 1 THEN 0 ELSE m.flow END AS flow
  FROM gleaner.flows f JOIN gleaner.flow_members m ON m.flow = f.id LEFT JOIN gleaner.tasks t ON t.id = m.task
  WHERE f.resolved_at IS NULL AND m.counted IS NULL AND (t.id IS NULL OR t.finished_at IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM gleaner.flow_news n WHERE n.task = m.task)`
