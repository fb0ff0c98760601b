import { GleanerError } from '../../../errors.ts'
import { isInstanceOf, property } from '../../../thrown.ts'

const LOCKED = '55P03'

/** The server's code, if it is the fault of a row, a condition or a table, and not of the server; as it is, or in words of the store. */
export function faultOf(error: unknown): string | null {
  const said = property(property(error, 'cause'), 'code') ?? property(error, 'code')
  return typeof said === 'string' &&
    /^(0A|21|22|23|27|2F|38|39|40|42|44|55P03|P0|GL)\w*$/.test(said) &&
    said.length === 5
    ? said
    : null
}

/** Another transaction keeps the row locked, perhaps to edit it. */
export function isLocked(error: unknown): boolean {
  return faultOf(error) === LOCKED
}

/** The discovery is wrong: neither the database nor another transaction is at fault. */
export function isOwnFault(error: unknown): error is Error {
  if (isInstanceOf(error, GleanerError) && error.code === 'BAD_DISCOVERY') return true
  const fault = faultOf(error)
  return fault !== null && !/^(40|55)/.test(fault)
}

/**
 * The table is perhaps not what it was when the statement was written: a column, a table or an operator is not there (class
 * 42), or a prepared statement would answer with other columns (0A000, "cached plan must not change result type").
 */
export function isPerhapsAltered(error: unknown): boolean {
  return /^(42|0A)/.test(faultOf(error) ?? '')
}

/** A text cannot be read as a value of the type of a column. */
export function isUnreadable(error: unknown): boolean {
  return /^22/.test(faultOf(error) ?? '')
}
