import type { ClaimProof, NewLogLine, Run } from '../store/ports/exchange.ts'
import type { Attempt, SettledAttempt } from './attempt.ts'
import type { AttemptOutcome, SourceExchange } from './sources/source.ts'

/** Log lines of one attempt that are kept. The rest is counted. */
const LINES_MAX = 1_000

interface Progress {
  fraction: number
  message: string | null
}

type Parts = Pick<SourceExchange, 'outcomes' | 'progress' | 'logs'>

/** What the store has to be told about the items of one source, since the last exchange. */
export class Outbox {
  /** When the oldest of it happened. */
  sinceMs: number | undefined
  #settled: SettledAttempt[] = []
  #returned: ClaimProof[] = []
  readonly #progress = new Map<Attempt, Progress>()
  readonly #logs = new Map<Attempt, NewLogLine[]>()
  readonly #lineCounts = new WeakMap<Attempt, number>()

  get isEmpty(): boolean {
    return this.sinceMs === undefined
  }

  settled(attempt: SettledAttempt, nowMs: number): void {
    this.#settled.push(attempt)
    this.sinceMs ??= nowMs
  }

  /** The worker held it and never started it. */
  returned(claim: ClaimProof, nowMs: number): void {
    this.#returned.push(claim)
    this.sinceMs ??= nowMs
  }

  progress(attempt: Attempt, progress: Progress, nowMs: number): void {
    this.#progress.set(attempt, progress)
    this.sinceMs ??= nowMs
  }

  /** The progress that no exchange has told yet, for a completion that does not wait for the next exchange. */
  takeProgress(attempt: Attempt): Progress | undefined {
    const progress = this.#progress.get(attempt)
    this.#progress.delete(attempt)
    return progress
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

  /** Empties it. `putBack` undoes that after a failed exchange. */
  take(): { parts: Parts; settled: readonly SettledAttempt[]; putBack: () => void } {
    const [settled, returned, progress, logs] = [
      this.#settled,
      this.#returned,
      [...this.#progress],
      [...this.#logs],
    ]
    const { sinceMs } = this
    this.#settled = []
    this.#returned = []
    this.#progress.clear()
    this.#logs.clear()
    this.sinceMs = undefined
    return {
      parts: {
        outcomes: returned.length === 0 ? settled : [...settled, ...returned.map(asReturned)],
        progress: progress.map(([{ id, fence }, at]) => ({ id, fence, ...at })),
        logs: logs.map(([{ id, fence }, lines]) => ({ id, fence, lines })),
      },
      settled,
      putBack: () => {
        this.#settled = [...settled, ...this.#settled]
        this.#returned = [...returned, ...this.#returned]
        for (const [attempt, at] of progress)
          if (!this.#progress.has(attempt)) this.#progress.set(attempt, at)
        for (const [attempt, lines] of logs)
          this.#logs.set(attempt, [...lines, ...(this.#logs.get(attempt) ?? [])])
        this.sinceMs = sinceMs ?? this.sinceMs
      },
    }
  }

  /** After the end of the session, the store accepts nothing of it. */
  drop(): void {
    for (const { trace } of this.take().settled) trace?.ended({ kind: 'claim-lost' })
  }
}

function asReturned({ id, fence }: ClaimProof): Run & { outcome: AttemptOutcome } {
  return { id, fence, startedAt: 0, outcome: { kind: 'returned' } }
}
