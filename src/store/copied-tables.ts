import type { TaskStatus } from '../model/task.ts'
import { KEY_WITHOUT_MARK } from './follower.ts'

/**
 * A table that `copy` takes from SQLite to PostgreSQL. Columns of the same name mean the same, and the target's type says how a
 * value is written; named here is only what differs.
 */
export interface CopiedTable {
  name: string
  /** Its primary key, by which it is walked. */
  key: readonly string[]
  /** Where SQLite keeps it, if not in the table of that name. */
  from?: string
  /** Columns that SQLite has not, or has otherwise: what to read instead, of `t`. */
  instead?: Readonly<Record<string, string>>
  /** Columns of SQLite that have no place in the target, or are reckoned there. */
  without?: readonly string[]
  /** An empty schema has rows of it, too, which are written over. */
  seeded?: true
}

/**
 * Ranks are drawn by the same rules in both stores, so that they are copied as they are, with the era of their queue and how far
 * its race has come: what waits keeps its order.
 */
export const COPIED_TABLES: readonly CopiedTable[] = [
  {
    name: 'settings',
    key: ['key'],
    // The versions grow, so that whoever has the empty target open reads what they speak of again.
    from: `(SELECT key, iif(key IN ('queues', 'limits'), value + 1, value) AS value FROM gleaner_meta
            WHERE key IN ('paused', 'queues', 'limits', 'keyed'))`,
    seeded: true,
  },
  {
    name: 'queues',
    key: ['name'],
    // Since ever: it is looked through once more.
    instead: { unranked: 'iif(t.unranked = 1, 0, NULL)' },
    without: ['race'],
  },
  {
    name: 'races',
    key: ['queue'],
    from: '(SELECT name AS queue, era, 0 AS session, race AS moment FROM gleaner_queues WHERE race > 0)',
  },
  {
    name: 'lanes',
    key: ['id'],
    without: ['line', 'queue_gate', 'created', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled'],
  },
  {
    name: 'tasks',
    key: ['id'],
    instead: {
      input: `iif(t.input = '', (SELECT i.input FROM gleaner_inputs i WHERE i.task = t.id), t.input)`,
      key: KEY_WITHOUT_MARK,
      active_key: 'iif(t.finished_at IS NULL, t.key, NULL)',
      // Tasks that wait behind others of their order key.
      in_line: `t.status = 'queued' AND t.leads IS NOT 0`,
      suspect: 't.suspect % 2',
      delayed: `t.status IN ('scheduled', 'suspended') AND t.run_after IS NOT NULL`,
    },
    without: ['line'],
  },
  // They have ended all of them. Finished tasks and attempts name their worker by them.
  { name: 'sessions', key: ['id'] },
  { name: 'attempts', key: ['id'] },
  { name: 'logs', key: ['task', 'line'] },
  // As in the ledger: a version cannot be told in the words of another database. An empty one is dropped at the next claim.
  {
    name: 'steps',
    key: ['item', 'name', 'number'],
    instead: { version: `iif(t.version IS NULL, NULL, '')` },
  },
  {
    name: 'waits',
    key: ['item', 'kind', 'name', 'number'],
    from: '(SELECT * FROM gleaner_waits WHERE task IS NOT NULL)',
  },
  // Of a row: of whichever version is claimed next.
  { name: 'signals', key: ['id'], instead: { version: 'NULL' } },
  { name: 'flows', key: ['id'] },
  { name: 'flow_members', key: ['flow', 'task'] },
  { name: 'flow_news', key: ['id'] },
  { name: 'forever_keys', key: ['key'] },
  { name: 'throttles', key: ['key'] },
  { name: 'limits', key: ['scope'] },
  { name: 'gates', key: ['id'] },
  { name: 'turnstiles', key: ['lane'] },
  { name: 'schedules', key: ['name'] },
  // The index that is missing is another one there, if any.
  { name: 'discoveries', key: ['name'], instead: { create_index: 'NULL' }, without: ['position'] },
  // What a row was like cannot be told in the words of another database: each holds for the row as it is found there.
  {
    name: 'ledger',
    key: ['discovery', 'row_key'],
    instead: {
      row_version: 'NULL',
      row_hash: '0',
      // Without its steps it begins anew.
      suspended: '0',
      blocked_until: 'iif(t.suspended = 1, 0, t.blocked_until)',
    },
  },
  { name: 'row_waits', key: ['discovery'] },
  { name: 'minutes', key: ['minute', 'queue', 'name'] },
  { name: 'levels', key: ['name', 'minute'] },
  { name: 'health', key: ['id'] },
  { name: 'actions', key: ['id'] },
]

/** What stays behind, and why: a table that is in neither list was forgotten. */
export const NOT_COPIED: Readonly<Record<string, string>> = {
  meta: 'copied as settings; fence and removed_through set the sequences',
  inputs: 'copied with their tasks',
  backups: 'they belong to the SQLite file',
  batches: 'no worker holds an item',
  claims: 'no worker holds an item',
  gate_news: 'no worker holds an item',
  order_outbox: 'on SQLite, a task of each order key leads',
  minute_news: 'SQLite adds to the minutes at once',
  lines: 'lanes get new lines in the target',
  tallies: 'the counters are computed from the tasks',
  finished: 'computed from the tasks',
  server_life: 'it belongs to the server',
  lease_clock: 'no session is alive',
  supervisors: 'no supervisor is alive',
  components: 'no process reports them',
  worker_reports: 'no worker is alive',
  commands: 'no process is alive to execute them',
  migrations: 'each database has its own migrations',
}

/** What is in the target now; in a dry run: what would be. It was counted on both sides. */
export interface Copied {
  dryRun: boolean
  /** How many tasks of each status. */
  tasks: Partial<Record<TaskStatus, number>>
  tables: Record<string, number>
}

/** Into the columns of the target, in its types. */
export interface CopyTarget {
  columnsOf(table: CopiedTable): Promise<readonly string[]>
  write(table: CopiedTable, columns: readonly string[], rows: readonly (readonly unknown[])[]): Promise<void>
  /** What follows from what was copied; and numbers go on where the source's ended. */
  conclude(last: LastNumbers): Promise<void>
  count(): Promise<Omit<Copied, 'dryRun'>>
}

/** Higher than any that was ever given away. */
export interface LastNumbers {
  fence: number
  task: number
}
