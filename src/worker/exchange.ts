import type { Source, SourceAnswer, WorkRequest } from './attempt/source.ts'
import type { InFlight } from './in-flight.ts'
import type { PrefetchPolicy } from './prefetch/policy.ts'
import type { Sources } from './sources/sources.ts'
import type { WorkerServices } from './worker-options.ts'

/** A commit whose answer was lost may still go through for that long. */
const IN_DOUBT_MS = 60_000
/** How often the items that a worker holds are compared with those that a remote store has in its name. */
const COMPARE_EVERY_MS = 60_000

interface ExchangeParts {
  services: WorkerServices
  inFlight: InFlight
  prefetch: PrefetchPolicy
  sources: Sources
}

/** What has the store been told, and what has it answered? */
export class Exchanges {
  readonly #parts: ExchangeParts
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY
  /** When the held items of a source are to be compared next. */
  readonly #compareAtMs = new Map<Source, number>()
  #reports: (() => void)[] = []

  constructor(parts: ExchangeParts) {
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
