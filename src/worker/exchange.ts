import type { ClaimProof, NewLogLine, Run } from '../store/ports/exchange.ts'
import type { Attempt, SettledAttempt } from './attempt.ts'
import type { AttemptOutcome, Source, SourceAnswer, SourceExchange, WorkRequest } from './sources/source.ts'
import type { WorkerParts } from './worker-parts.ts'

/** A commit whose answer was lost may still go through for that long. */
const IN_DOUBT_MS = 60_000
/** How often the items that a worker holds are compared with those that a remote store has in its name. */
const COMPARE_EVERY_MS = 60_000
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

  /** The items whose outcome the store does not know yet. */
  get ids(): string[] {
    return [...this.#settled, ...this.#returned].map(({ id }) => id)
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

/** What has the store been told, and what has it answered? */
export class Exchanges {
  readonly #parts: Pick<WorkerParts, 'services' | 'inFlight' | 'prefetch' | 'sources'>
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY
  /** When the held items of a source are to be compared next. */
  readonly #compareAtMs = new Map<Source, number>()
  #reports: (() => void)[] = []

  constructor(parts: Pick<WorkerParts, 'services' | 'inFlight' | 'prefetch' | 'sources'>) {
    this.#parts = parts
  }

  /** Settles what has finished, and claims what is next. After a failure the outbox has everything again. */
  async make(source: Source, session: string, want: WorkRequest | null): Promise<SourceAnswer> {
    const { services } = this.#parts
    const unsent = source.outbox.take()
    const nowMs = services.clock.monotonicMs()
    const begun = this.#startsToTell(source, nowMs)
    const starts = begun.map(({ id, fence, startedAt }) => ({ id, fence, startedAt }))
    const holding = this.#isInDoubt(source, nowMs) ? this.#holding(source) : undefined
    try {
      const answer = await source.exchange({ session, starts, ...unsent.parts, want, holding })
      const gaveBack = unsent.parts.outcomes.some(({ outcome }) => outcome.kind === 'returned')
      if (answer.compare) this.#compareAtMs.set(source, nowMs)
      else if (holding !== undefined) this.#compareAtMs.set(source, nowMs + COMPARE_EVERY_MS)
      for (const attempt of begun) attempt.startIsKnown = true
      this.#reports.push(() => source.report(services, unsent.settled, answer))
      return { ...answer, gaveBack }
    } catch (error) {
      unsent.putBack()
      throw error
    }
  }

  /** The store compares it with all claims of this kind, and some of them are of another source. */
  #holding(source: Source): string[] {
    const { inFlight, sources } = this.#parts
    const others = sources.siblings(source).flatMap((one) => [...inFlight.ids(one), ...one.outbox.ids])
    return [...inFlight.ids(source), ...others]
  }

  /** A remote store is not told about starts that are likely to have ended before the next exchange. */
  #startsToTell(source: Source, nowMs: number) {
    const { services, inFlight, prefetch } = this.#parts
    const starts = inFlight.unknownStarts(source)
    if (!services.store.remote) return starts
    return starts.filter(({ startedMs }) => nowMs - startedMs >= prefetch.startsWaitMs)
  }

  #isInDoubt(source: Source, nowMs: number): boolean {
    if (nowMs < this.#inDoubtUntilMs) return true
    if (!this.#parts.services.store.remote) return false
    const dueMs = this.#compareAtMs.get(source)
    if (dueMs === undefined) this.#compareAtMs.set(source, nowMs + COMPARE_EVERY_MS)
    return dueMs !== undefined && dueMs <= nowMs
  }

  /** Whether the last one was committed is unknown. */
  failed(): void {
    this.#inDoubtUntilMs = this.#parts.services.clock.monotonicMs() + IN_DOUBT_MS
  }

  /** Tells listeners and hooks what became of the settled attempts. If the next request is under way, it leaves first: the store works meanwhile. */
  report(nextIsUnderWay: boolean): void {
    if (nextIsUnderWay) setImmediate(() => this.report(false))
    else for (const report of this.#reports.splice(0)) report()
  }
}

function asReturned({ id, fence }: ClaimProof): Run & { outcome: AttemptOutcome } {
  return { id, fence, startedAt: 0, outcome: { kind: 'returned' } }
}
