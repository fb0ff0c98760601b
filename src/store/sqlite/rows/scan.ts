import { UNTIL_RESUMED } from '../../../model/ledger.ts'
import type { RowClaimRequest } from '../../ports/rows.ts'
import { isUnanswerable } from '../file/sql-errors.ts'
import type { Statements } from '../file/statements.ts'
import { isLive } from '../sessions/live.ts'
import { waitingSuspects } from './claim.ts'
import type { DiscoveryCache, KnownDiscovery } from './discovery-cache.ts'
import { isAnyBehind, scannedBehind } from './find.ts'
import { reviewEntries } from './review.ts'
import type { ScanRound } from './scan-cursor.ts'

export type ScanAnswer =
  /** A claim would find something. */
  | { kind: 'something' }
  /** Nothing so far. */
  | { kind: 'further' }
  | { kind: 'nothing'; suspectsWaiting: boolean; nextDueInMs: number | null; paused: boolean }
  /** Rows were edited that the ledger keeps back. */
  | { kind: 'outdated'; discovery: string; keys: string[] }
  | { kind: 'session-over' }

/** A look around without a lock, in bounded steps. */
export class RowScan {
  readonly #db: Statements
  readonly #book: DiscoveryCache
  readonly #rounds = new Map<string, ScanRound>()

  constructor(db: Statements, book: DiscoveryCache) {
    this.#db = db
    this.#book = book
  }

  step(session: string, want: RowClaimRequest, now: number): ScanAnswer {
    const db = this.#db
    if (!isLive(db, Number(session))) return { kind: 'session-over' }
    const open = this.#book.open(want.discoveries)
    // Whose table is not what it was is to be paused, by a write.
    if (open.some(({ problem }) => problem !== null)) return { kind: 'something' }
    const known = open.flatMap((one) => one.known ?? [])
    const suspects = known.some(({ name }) => waitingSuspects(db, name, now, 1, want.avoid).length > 0)
    if (want.empty && suspects) return { kind: 'something' }
    const found = this.#lookAt(known, want.thorough === true, now)
    if (found !== null) return found
    return {
      kind: 'nothing',
      suspectsWaiting: !want.empty && suspects,
      nextDueInMs: nextDueInMs(db, known, now, performance.now()),
      paused: open.length === 0 && this.#book.isEverythingPaused,
    }
  }

  #lookAt(known: readonly KnownDiscovery[], thorough: boolean, now: number): ScanAnswer | null {
    try {
      for (const one of known) {
        const found = this.#stepIn(one, thorough, now)
        if (found !== null) return found
      }
      for (const one of known) {
        const keys = reviewEntries(this.#db, one, one.review)
        if (keys.length > 0) return { kind: 'outdated', discovery: one.name, keys }
      }
      return null
    } catch (error) {
      if (!isUnanswerable(error)) throw error
      // Whose condition fails is paused by a claim.
      return { kind: 'something' }
    }
  }

  /** Something that was passed may wait now. */
  again(): void {
    this.#rounds.clear()
  }

  #stepIn(known: KnownDiscovery, thorough: boolean, now: number): ScanAnswer | null {
    const beganMs = performance.now()
    let round = this.#rounds.get(known.name)
    if (round === undefined) {
      round = known.hand.round(beganMs, thorough)
      this.#rounds.set(known.name, round)
    }
    if (round.isOver) return null
    if (isAnyBehind(this.#db, known, round.position, now)) {
      round.found()
      return { kind: 'something' }
    }
    const walked = scannedBehind(this.#db, known, round.position)
    const nowMs = performance.now()
    round.passed(walked, nowMs - beganMs, nowMs)
    return round.isOver ? null : { kind: 'further' }
  }
}

/** When a row's backoff ends, or a costly round may be repeated. */
function nextDueInMs(
  db: Statements,
  known: readonly KnownDiscovery[],
  now: number,
  nowMs: number,
): number | null {
  const due = known.flatMap(({ name, hand }) => {
    const at = db
      .scalar(`SELECT min(blocked_until) FROM gleaner_ledger
               WHERE discovery = ? AND quarantined = 0 AND blocked_until > ? AND blocked_until < ${UNTIL_RESUMED}`)
      .get(name, now) as number | null
    const restsMs = hand.restsMs(nowMs)
    return [...(at === null ? [] : [at - now]), ...(restsMs > 0 ? [Math.ceil(restsMs)] : [])]
  })
  return due.length === 0 ? null : Math.min(...due)
}
