import { StoreError } from '../errors.ts'
import type { Rows } from './rows.ts'

/** Stands where a store does not find rows yet. */
export function rowsNotYet(store: string): Rows {
  const notYet = (): Promise<never> =>
    Promise.reject(new StoreError(`discovery on ${store} is not there yet`, { code: 'NOT_SUPPORTED' }))
  return {
    planDiscoveries: notYet,
    exchangeRows: notYet,
    completeRowWith: notYet,
    repairRows: notYet,
    listDiscoveries: notYet,
    countRows: notYet,
    listRows: notYet,
    getRow: notYet,
    rowCircumstances: notYet,
    retryRow: notYet,
    releaseRows: notYet,
    setDiscoveryPaused: notYet,
  }
}
