import type { ClaimRequest } from '../../ports/exchange.ts'
import { IS_AWAITED } from '../server/awaited.ts'
import { LIFE } from '../server/server-life.ts'
import type { Sql } from '../server/sql.ts'
import { ENTRIES_READ, SUSPECT } from '../waiting/conditions.ts'
import type { Memory } from './memory.ts'
import { keepMoment } from './moment.ts'
import { NO_LANES, type OpenLanes } from './open-lanes.ts'

/** What an exchange has to know first, in one round trip. */
export interface TaskPreconditions {
  live: boolean
  /** The session has finished something before. */
  useful: boolean
  now: number
  /** The lanes this worker may take from now: not those of a paused queue. */
  open: OpenLanes
  /** Somewhere a suspect waits. */
  suspects: boolean
  /** When the next delayed task is due; null: there is none. */
  dueAt: number | null
  /** What this session holds and is asked to stop. */
  cancels: readonly string[]
  /** There are limits. */
  limited: boolean
  /** More than 0: tasks have limit keys. */
  keyed: number
  /** Everything is paused. */
  everything: boolean
  /** No other session lives. */
  alone: boolean
  /** Nothing speaks against asking for everything at once the next time, if the session has finished something. */
  usual: boolean
  /** What the connection had read of the index of what is ready. */
  entriesBefore: number
  /** A process waits for tasks to end. */
  isAwaited: boolean
  /** Tasks of order keys may have to lead. */
  hasFreedOrders: boolean
  /** Of the server; null: it has lost something, and no new one has begun. */
  life: number | null
}

interface OutlookRow extends Omit<TaskPreconditions, 'open' | 'limited' | 'usual'> {
  limits: number
  version: number
  queues: string[]
  highest: number | null
}

const OUTLOOK = `
  SELECT ended_at IS NULL AS live, completed <> 0 AS useful, gleaner.now_ms() AS now,
         (SELECT value <> 0 FROM gleaner.settings WHERE key = 'paused') AS everything,
         (SELECT pg_catalog.count(*) < 2 FROM (SELECT 1 FROM gleaner.sessions WHERE ended_at IS NULL LIMIT 2) l) AS alone,
         ARRAY(SELECT name FROM gleaner.queues WHERE paused) AS queues,
         (SELECT value FROM gleaner.settings WHERE key = 'queues') AS version,
         (SELECT value FROM gleaner.settings WHERE key = 'limits') AS limits,
         (SELECT value FROM gleaner.settings WHERE key = 'keyed') AS keyed,
         (SELECT pg_catalog.max(id) FROM gleaner.lanes WHERE limit_key = '') AS highest,
         EXISTS (SELECT 1 FROM gleaner.tasks WHERE ${SUSPECT}) AS suspects,
         (SELECT pg_catalog.min(run_after) FROM gleaner.tasks WHERE delayed) AS "dueAt",
         ARRAY(SELECT tasks.id::text FROM gleaner.tasks
               WHERE session = sessions.id AND cancel_requested AND fence IS NOT NULL) AS cancels,
         ${ENTRIES_READ} AS "entriesBefore", ${LIFE} AS life, ${IS_AWAITED} AS "isAwaited",
         EXISTS (SELECT 1 FROM gleaner.order_outbox) AS "hasFreedOrders"
  FROM gleaner.sessions WHERE sessions.id = $1`

/**
 * Null: there is no such session. `locked`, in a transaction: whoever wants to end the session waits for our commit, and
 * then finds what we claimed under it. That does not hold up the keeper, which changes no key.
 */
export async function readPreconditions(
  sql: Sql,
  { lanes, queues }: Memory,
  session: string,
  want: ClaimRequest | null,
  { locked }: { locked: boolean },
): Promise<TaskPreconditions | null> {
  const row = await sql.row<OutlookRow>(locked ? `${OUTLOOK} FOR KEY SHARE OF sessions` : OUTLOOK, [session])
  if (row === undefined) return null
  await queues.knowing(row.version, sql)
  const limited = row.limits + row.keyed > 0
  const { live, everything, suspects } = row
  const usual = live && !everything && !limited && !suspects && row.queues.length === 0
  if (want === null || row.everything) return { ...row, limited, usual, open: NO_LANES }
  await lanes.limits.knowing(row.limits, sql)
  await lanes.knowing(row.highest, sql)
  return { ...row, limited, usual, open: lanes.open(want.able, row.queues) }
}

/** As this process knows the database, and with nothing to do beside the usual. */
const AS_KNOWN = `live AND useful AND NOT everything AND pg_catalog.cardinality(queues) = 0 AND version = $2 AND limits = 0 AND keyed = 0
  AND highest = $3 AND life = $5::bigint AND NOT suspects AND NOT "hasFreedOrders" AND coalesce("dueAt" > coalesce($4::bigint, now), true)`

const LOOK_ALONG = `
  SELECT o.*, ${keepMoment(`CASE WHEN ${AS_KNOWN} THEN coalesce($4::bigint, now) END`)} AS kept
  FROM (${OUTLOOK} FOR KEY SHARE) o`

/**
 * For statements that are on their way already: keeps the time for them if everything is as we know it, and makes them do
 * nothing otherwise. The session is locked before that is decided. Null: it is not so.
 */
export async function checkAsKnown(
  sql: Sql,
  { lanes, queues, life }: Memory,
  session: string,
  open: OpenLanes,
  clockMs: number | null,
): Promise<TaskPreconditions | null> {
  const values = [session, queues.version, lanes.highest, clockMs, life.of('tasks', session)]
  const row = await sql.row<OutlookRow & { kept: boolean }>(LOOK_ALONG, values)
  return row?.kept ? { ...row, limited: false, usual: true, open } : null
}
