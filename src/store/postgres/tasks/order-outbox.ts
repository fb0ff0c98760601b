import { letLead } from '../../scripts/order-keys.ts'
import { Slots } from '../limits/counters.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'
import type { Sql } from '../server/sql.ts'

/** Keys that one claim looks at. The next one goes on. */
const KEYS_MAX = 1_000

/** No time is asked for. */
const DIALECT = postgresDialect(() => Number.NaN)

/**
 * In a transaction, in a statement of its own. One claim at a time lets tasks lead, until its transaction ends: so two claims never let two
 * tasks of one key lead. What is committed later has an entry of its own.
 */
async function takeKeys(sql: Sql): Promise<{ keys: string[]; left: boolean }> {
  const row = await sql.row<{ locked: boolean; keys: string[] }>(
    `WITH turn AS MATERIALIZED (
       SELECT pg_catalog.pg_try_advisory_xact_lock('gleaner.order_outbox'::regclass::oid::bigint) AS locked
     ), taken AS (
       DELETE FROM gleaner.order_outbox WHERE (SELECT locked FROM turn)
         AND ctid = ANY(ARRAY(SELECT ctid FROM gleaner.order_outbox LIMIT ${KEYS_MAX})) RETURNING key
     )
     SELECT locked, ARRAY(SELECT key FROM taken) AS keys FROM turn`,
  )
  const { locked, keys } = row!
  return { keys, left: !locked || keys.length === KEYS_MAX }
}

/** Before a claim takes anything. True: there may be more. */
export async function readOrderOutbox(sql: Sql, limited: boolean): Promise<boolean> {
  const { keys, left } = await takeKeys(sql)
  // A statement of its own: it must see how the keys stood when we got the lock.
  const { lanes, passedOver } = await driveOn(sql, letLead(DIALECT, keys))
  await addToOrderOutbox(sql, passedOver)
  if (limited && lanes.length > 0) {
    const slots = new Slots()
    for (const lane of lanes) slots.arrived(lane)
    await slots.write(sql)
  }
  return left || passedOver.length > 0
}

/** An insert that waits for no other transaction: the next claim looks at these keys. */
export async function addToOrderOutbox(sql: Sql, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  await sql.run('INSERT INTO gleaner.order_outbox (key) SELECT DISTINCT pg_catalog.unnest($1::text[])', [
    keys,
  ])
}
