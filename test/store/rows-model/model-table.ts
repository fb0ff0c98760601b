import {
  BLANK,
  CHANGES_MAX,
  entryAfter,
  entryAfterChange,
  entryReleased,
  type LedgerEntry,
  type RowTransition,
} from '../../../src/model/ledger.ts'
import { decide, type Held } from '../../../src/model/outcome.ts'
import type { RowAnswer, RowOutcome, RowState } from '../../../src/model/row.ts'
import { type EndCause, giveBack } from '../../../src/model/session.ts'

/** A file of the user's, and beside it what is known of its work. Every write counts `edited` up, except a rescan. */
export interface ModelRow {
  id: number
  path: string
  needs: number
  valid: number
  bpm: number | null
  edited: number
}

interface Claim {
  life: number
  fence: number
  attempt: number
  edited: number
  started: boolean
}

export const MAX_ATTEMPTS = 3

/** What a table and its discovery are, as far as anybody can see. */
export class ModelTable {
  readonly rows = new Map<number, ModelRow>()
  readonly claims = new Map<number, Claim>()
  readonly #entries = new Map<number, LedgerEntry & { edited: number }>()

  isEligible(id: number): boolean {
    const row = this.rows.get(id)
    return row !== undefined && row.needs === 1 && row.valid === 1
  }

  /** What the ledger says of the row as it is. */
  entry(id: number): LedgerEntry | null {
    const entry = this.#entries.get(id)
    return entry !== undefined && entry.edited === this.rows.get(id)?.edited ? entry : null
  }

  /** Null: none of Gleaner's business. */
  state(id: number, now: number): RowState | null {
    if (!this.isEligible(id)) return null
    if (this.claims.has(id)) return 'claimed'
    const { quarantined, blockedUntil } = this.entry(id) ?? BLANK
    if (quarantined) return 'quarantined'
    return blockedUntil > now ? 'backing-off' : 'waiting'
  }

  waiting(now: number, suspect: boolean): number[] {
    return [...this.rows.keys()].filter(
      (id) => this.state(id, now) === 'waiting' && (this.entry(id)?.suspect ?? false) === suspect,
    )
  }

  heldBy(life: number): number[] {
    return [...this.claims].filter(([, claim]) => claim.life === life).map(([id]) => id)
  }

  claim(id: number, life: number, fence: number, started: boolean): number {
    const entry = this.entry(id)
    if (entry === null) this.#entries.delete(id)
    const attempt = (entry?.attempts ?? 0) + 1
    this.claims.set(id, { life, fence, attempt, edited: this.rows.get(id)!.edited, started })
    return attempt
  }

  /** What must be answered, and what becomes of the row. */
  settle(id: number, life: number, fence: number, outcome: RowOutcome, now: number): RowAnswer['kind'] {
    const claim = this.claims.get(id)
    if (claim?.life !== life || claim.fence !== fence) return 'refused'
    this.claims.delete(id)
    if (outcome.kind === 'returned') return 'returned'
    if (!this.isEligible(id)) {
      this.#entries.delete(id)
      return 'gone'
    }
    const row = this.rows.get(id)!
    const before = this.#entries.get(id) ?? null
    if (outcome.kind === 'waits') throw new Error('the model has no waits')
    if (row.edited !== claim.edited && outcome.kind !== 'later') {
      const tooOften = (before?.changes ?? 0) + 1 >= CHANGES_MAX
      if (!(tooOften && outcome.kind === 'failed')) {
        this.#remember(id, entryAfterChange(before, outcome.retryAfterMs ?? 0, now))
        return 'changed'
      }
    }
    const held = { ...this.#held(id, claim), started: true }
    if (outcome.kind === 'completed') {
      const { needs } = outcome.values
      if (needs === 0) {
        Object.assign(row, outcome.values, { edited: row.edited })
        this.#entries.delete(id)
        return 'done'
      }
      const failure = { kind: 'error', message: '', stack: null } as const
      this.#apply(
        id,
        claim,
        decide(held, { kind: 'failed', failure, retryAfterMs: outcome.retryAfterMs }),
        now,
      )
      return 'failed'
    }
    this.#apply(id, claim, decide(held, outcome), now)
    return outcome.kind === 'later' ? 'returned' : 'failed'
  }

  end(life: number, cause: EndCause, now: number): number {
    const ids = this.heldBy(life)
    const { transitions } = giveBack(
      cause,
      ids.map((id) => this.#held(id, this.claims.get(id)!)),
    )
    let returned = 0
    for (const id of ids) {
      const claim = this.claims.get(id)!
      this.claims.delete(id)
      const transition = transitions.get(String(id))!
      if (transition.to === 'waiting') returned += 1
      if (this.isEligible(id)) this.#apply(id, claim, transition, now)
      else this.#entries.delete(id)
    }
    return returned
  }

  retry(id: number, now: number): string {
    const state = this.state(id, now)
    if (state === null) return 'gone'
    if (state === 'claimed') return 'claimed'
    this.#release(id)
    return state === 'waiting' ? 'waiting' : 'retried'
  }

  releaseAll(): void {
    for (const [id, { quarantined }] of this.#entries) if (quarantined) this.#release(id)
  }

  /** Who works on what needs nothing any more works in vain. */
  repair(): void {
    for (const id of this.claims.keys()) if (!this.isEligible(id)) this.claims.delete(id)
  }

  deleteLedger(): void {
    this.#entries.clear()
  }

  #release(id: number): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    const released = entryReleased(entry)
    if (released === null) this.#entries.delete(id)
    else this.#entries.set(id, { ...released, edited: entry.edited })
  }

  #held(id: number, { attempt, started }: Claim): Held {
    const { crashes, suspect } = this.#entries.get(id) ?? BLANK
    return {
      id: String(id),
      attempts: attempt,
      maxAttempts: MAX_ATTEMPTS,
      crashes,
      suspect,
      started,
      cancelRequested: false,
    }
  }

  #apply(id: number, { attempt }: Claim, transition: ReturnType<typeof decide>, now: number): void {
    const next = entryAfter(this.#entries.get(id) ?? null, attempt, transition as RowTransition, now)
    this.#remember(id, next)
  }

  #remember(id: number, entry: LedgerEntry | null): void {
    if (entry === null) this.#entries.delete(id)
    else this.#entries.set(id, { ...entry, edited: this.rows.get(id)!.edited })
  }
}
