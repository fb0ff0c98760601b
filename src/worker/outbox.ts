import type { ClaimProof, NewLogLine, Run } from '../store/contract.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptOutcome, SourceExchange } from './sources/source.ts'

/** Log lines of one run that are kept; the rest is counted. */
const LINES_MAX = 1_000

/** An outcome as the store takes it, with the run that it is of. */
export interface HandedIn extends Run {
  attempt: Attempt
  outcome: AttemptOutcome
}

/** What has happened since the last exchange. */
export class Outbox {
  /** When the oldest of it happened. */
  sinceMs: number | undefined
  #outcomes: HandedIn[] = []
  #returned: ClaimProof[] = []
  readonly #progress = new Map<Attempt, { fraction: number; message: string | null }>()
  readonly #logs = new Map<Attempt, NewLogLine[]>()
  readonly #lineCounts = new WeakMap<Attempt, number>()

  get isEmpty(): boolean {
    return this.sinceMs === undefined
  }

  finished(attempt: Attempt, outcome: AttemptOutcome, nowMs: number): void {
    const { claim, startedAt } = attempt
    this.#outcomes.push({ id: claim.id, fence: claim.fence, startedAt, outcome, attempt })
    this.sinceMs ??= nowMs
  }

  /** Held, never started, handed back. */
  returned(claim: ClaimProof, nowMs: number): void {
    this.#returned.push(claim)
    this.sinceMs ??= nowMs
  }

  progress(attempt: Attempt, fraction: number, message: string | null, nowMs: number): void {
    this.#progress.set(attempt, { fraction, message })
    this.sinceMs ??= nowMs
  }

  /** What is not handed in yet, for a completion that does not wait for the next exchange. */
  takeProgress(attempt: Attempt): { fraction: number; message: string | null } | undefined {
    const at = this.#progress.get(attempt)
    this.#progress.delete(attempt)
    return at
  }

  logged(attempt: Attempt, line: NewLogLine, nowMs: number): void {
    const count = (this.#lineCounts.get(attempt) ?? 0) + 1
    this.#lineCounts.set(attempt, count)
    if (count > LINES_MAX) return
    const lines = this.#logs.get(attempt) ?? []
    const last = { ...line, message: `${line.message} (the last line kept of this attempt)` }
    lines.push(count === LINES_MAX ? last : line)
    this.#logs.set(attempt, lines)
    this.sinceMs ??= nowMs
  }

  /** Empties it; `putBack` undoes that when the exchange has failed. */
  take(): {
    parts: Pick<SourceExchange, 'outcomes' | 'progress' | 'logs'>
    handedIn: readonly HandedIn[]
    putBack: () => void
  } {
    const outcomes = this.#outcomes
    const returned = this.#returned
    const progress = [...this.#progress]
    const logs = [...this.#logs]
    const { sinceMs } = this
    this.#outcomes = []
    this.#returned = []
    this.#progress.clear()
    this.#logs.clear()
    this.sinceMs = undefined
    return {
      parts: {
        outcomes: returned.length === 0 ? outcomes : [...outcomes, ...returned.map(asReturned)],
        progress: progress.map(([{ claim }, at]) => ({ id: claim.id, fence: claim.fence, ...at })),
        logs: logs.map(([{ claim }, lines]) => ({ id: claim.id, fence: claim.fence, lines })),
      },
      handedIn: outcomes,
      putBack: () => {
        this.#outcomes = [...outcomes, ...this.#outcomes]
        this.#returned = [...returned, ...this.#returned]
        for (const [attempt, at] of progress) {
          if (!this.#progress.has(attempt)) this.#progress.set(attempt, at)
        }
        for (const [attempt, lines] of logs) {
          this.#logs.set(attempt, [...lines, ...(this.#logs.get(attempt) ?? [])])
        }
        this.sinceMs = sinceMs ?? this.sinceMs
      },
    }
  }

  /** The session is gone: nobody would accept any of it. */
  drop(): void {
    for (const { attempt } of this.take().handedIn) attempt.trace?.ended({ kind: 'claim-lost' })
  }
}

function asReturned({ id, fence }: ClaimProof): Run & { outcome: AttemptOutcome } {
  return { id, fence, startedAt: 0, outcome: { kind: 'returned' } }
}
