import { rowId } from '../../../model/row.ts'
import type { RowCircumstances } from '../../../model/row-explanation.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { DiscoverySql } from '../../sql/discovery-sql.ts'
import { one, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { readServing } from '../circumstances.ts'
import { everythingIsPaused } from '../counts.ts'
import { waitsOf } from '../waits.ts'
import { readDiscovery } from './discoveries.ts'
import { isThere, readRow } from './records.ts'

export interface RowName {
  discovery: string
  key: string
}

/** All that decides whether a row can run now. `known`: an error if the declaration does not fit the table. */
export function* readRowCircumstances(
  db: Dialect,
  known: DiscoverySql | Error,
  { discovery, key }: RowName,
): Script<RowCircumstances> {
  const { paused, pausedReason, createIndex, where } = yield* readDiscovery(discovery)
  const suspect = yield* one(
    sql`SELECT 1 AS one FROM gleaner.ledger WHERE discovery = ${discovery} AND row_key = ${key} AND suspect = ${true}`,
  )
  return {
    discovery,
    key,
    problem: known instanceof Error ? known.message : null,
    exists: !(known instanceof Error) && (yield* isThere(known, key)),
    row: known instanceof Error ? null : yield* readRow(db, known, key),
    where,
    now: yield* db.time(),
    suspect: suspect !== undefined,
    waits: yield* waitsOf(rowId(discovery, key)),
    everythingPaused: yield* everythingIsPaused(db),
    paused,
    pausedReason,
    createIndex,
    workers: yield* readServing(),
  }
}
