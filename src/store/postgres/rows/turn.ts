import type { Statement } from '../server/database.ts'
import { literal } from './source.ts'

/**
 * One claims from a discovery at a time. Two at once would find the same rows, and the second would
 * wait for the first only to lose them all. A statement sees the rows as they were when it began, so it is our turn before the
 * claim begins: whatever others took before is seen, and nobody takes, does and lets go of a row between its look and its insert.
 * The turn ends with the transaction. An outlook takes it if it can be had (see `Intent`): who rides along with what is handed in does not wait for
 * it, because others may wait for the rows that he has written.
 */
export function turnKey(schema: string, name: string): string {
  return `pg_catalog.hashtextextended(${literal(`${schema} claims `)} || ${name}, 0)`
}

/** Waits for it. */
export function waitForTurn(schema: string, discovery: string): Statement {
  return {
    text: `SELECT pg_catalog.pg_advisory_xact_lock(${turnKey(`"${schema}"`, '$1::text')})`,
    values: [discovery],
  }
}
