/** A task waits, and has been in no crash that is unsettled. */
export const READY = 'in_line AND NOT suspect'
/** How many entries of the indexes that READY walks this connection has read, dead or alive. Read it before and after a claim. */
export const ENTRIES_READ = `(pg_catalog.pg_stat_get_xact_tuples_returned('gleaner.tasks_ready'::regclass)
  + pg_catalog.pg_stat_get_xact_tuples_returned('gleaner.tasks_line'::regclass))`
/** A task waits to be run alone. */
export const SUSPECT = 'in_line AND suspect'

/** A worker holds a task. The batches say where to look, and the row of the task whether it is still so. */
export const HELD =
  'id = ANY(ARRAY(SELECT pg_catalog.unnest(tasks) FROM gleaner.batches)) AND fence IS NOT NULL'
