/*
 * What finds entries of the ledger that are due, or suspects. No other index fits these words, and theirs fits no others: the
 * planner mostly believes that there are no entries, and would find them by any index that fits, through all of them.
 */

/** It is kept back, and not for good. */
export function isKept(entry: string, discovery: string): string {
  return `${entry}.discovery || ' kept' = ${discovery} || ' kept' AND NOT ${entry}.quarantined`
}

/** It is to be run alone, and nothing keeps it back. */
export function isSuspect(entry: string, discovery: string, now: string): string {
  return `${entry}.discovery || ' suspect' = ${discovery} || ' suspect' AND ${entry}.suspect
    AND CASE WHEN ${entry}.quarantined THEN false ELSE ${entry}.blocked_until <= ${now} END`
}
