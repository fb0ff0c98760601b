import type { ClaimRequest } from '../../ports/exchange.ts'
import type { Sql } from '../server/sql.ts'
import { ENTRIES_READ, READY, SUSPECT } from '../waiting/conditions.ts'
import type { Memory } from './memory.ts'
import type { OpenLanes } from './open-lanes.ts'
import { type ClaimRoute, claimRouteOf, isWhole, wholeRoute } from './route.ts'

/** What waits. Infinity: nothing is scheduled. */
export interface PeekAnswer {
  ready: boolean
  suspects: boolean
  nextDueAt: number
}

/** Without a lock. */
export async function peek(
  sql: Sql,
  memory: Memory,
  open: OpenLanes,
  want: ClaimRequest,
): Promise<PeekAnswer> {
  if (!open.areFew) return lookAtMany(sql, memory, open)
  const route = claimRouteOf(memory, want, open)
  const ahead = await look(sql, memory, open, route)
  return ahead.ready || isWhole(route) || !want.thorough
    ? ahead
    : look(sql, memory, open, wholeRoute(memory, want, open))
}

const NEXT_DUE = '(SELECT pg_catalog.min(run_after) FROM gleaner.tasks WHERE delayed)'

async function look(
  sql: Sql,
  { lowWater }: Memory,
  open: OpenLanes,
  { path }: ClaimRoute,
): Promise<PeekAnswer> {
  type Row = { before: number; ready: boolean; suspects: boolean; due: number | null; after: number }
  const isThere = (place: string) => `EXISTS (
    SELECT 1 FROM unnest($1::int[], $2::bigint[], $3::bigint[]) l(lane, low, high), LATERAL (
      SELECT 1 FROM gleaner.tasks WHERE ${place} AND ${READY} AND rank >= l.low AND rank < l.high LIMIT 1) t)`
  const row = await sql.row<Row>(
    `SELECT ${ENTRIES_READ} AS before,
            ${isThere('tasks.lane = l.lane AND l.lane > 0')} OR ${isThere('tasks.line = -l.lane AND l.lane < 0')} AS ready,
            EXISTS (SELECT 1 FROM gleaner.tasks WHERE ${SUSPECT} AND (lane = ANY($4) OR line = ANY($5))) AS suspects,
            ${NEXT_DUE} AS due, ${ENTRIES_READ} AS after`,
    [path.lanes, path.from, path.to, open.ownIds, open.lines],
  )
  const { before, ready, suspects, due, after } = row!
  // What it has seen is still to be taken: the claim must walk the same way.
  if (!ready) lowWater.walked(path, { entries: after - before, taken: [] })
  return { ready, suspects, nextDueAt: due ?? Number.POSITIVE_INFINITY }
}

async function lookAtMany(sql: Sql, { ready }: Memory, open: OpenLanes): Promise<PeekAnswer> {
  const row = await sql.row<{ ready: number[]; suspects: number[]; due: number | null }>(
    `SELECT ARRAY(${lanesWith(READY)}) AS ready, ARRAY(${lanesWith(SUSPECT)}) AS suspects, ${NEXT_DUE} AS due`,
  )
  const lanes = new Set(row!.ready.filter((lane) => open.lane(lane) !== undefined))
  ready.found(open, lanes)
  return {
    ready: lanes.size > 0,
    suspects: row!.suspects.some((lane) => open.lane(lane) !== undefined),
    nextDueAt: row!.due ?? Number.POSITIVE_INFINITY,
  }
}

/** Those of these lanes that have something of a kind. */
export async function lanesOf(sql: Sql, which: string, open: OpenLanes): Promise<Set<number>> {
  const rows = await sql.rows<{ lane: number }>(lanesWith(which))
  return new Set(rows.map(({ lane }) => lane).filter((lane) => open.lane(lane) !== undefined))
}

/** From one lane with something to the next: those without cost nothing. */
function lanesWith(which: string): string {
  return `WITH RECURSIVE found (lane) AS (
      (SELECT lane FROM gleaner.tasks WHERE ${which} ORDER BY lane LIMIT 1)
      UNION ALL
      SELECT (SELECT tasks.lane FROM gleaner.tasks WHERE ${which} AND tasks.lane > found.lane ORDER BY tasks.lane LIMIT 1)
      FROM found WHERE found.lane IS NOT NULL)
    SELECT lane FROM found WHERE lane IS NOT NULL`
}
