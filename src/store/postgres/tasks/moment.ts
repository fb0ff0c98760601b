/** What a transaction keeps for its own statements. Not in the schema: it is a setting, and gone with the commit. */
const KEPT = 'gleaner_exchange.now'

/** Keeps this time, or with null that nothing is to be done; true: it was a time. */
export function keepMoment(time: string): string {
  return `pg_catalog.set_config('${KEPT}', coalesce((${time})::text, ''), true) <> ''`
}

/** The time that was given, or that is kept. Null: neither, and nothing is to be done. */
export function momentOf(given: string): string {
  return `coalesce(${given}::bigint, nullif(pg_catalog.current_setting('${KEPT}', true), '')::bigint)`
}
