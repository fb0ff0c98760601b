import type { Clock } from '../clock.ts'
import type { InFlight } from './in-flight.ts'
import type { PrefetchPolicy } from './prefetch/policy.ts'
import type { Capacity, Source, SourceAnswer } from './sources/source.ts'

/** A commit whose answer was lost may still go through for that long. */
const IN_DOUBT_MS = 60_000
/** What a worker holds is compared with what a store elsewhere has in its name so often, whatever else happens. */
const COMPARE_EVERY_MS = 60_000

/** What passes between a worker and its store. */
export class Exchanges {
  readonly #inFlight: InFlight
  readonly #pace: PrefetchPolicy
  readonly #clock: Clock
  readonly #isRemote: boolean
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY
  /** When what it holds of a source is to be compared next. */
  readonly #compareAtMs = new Map<Source, number>()
  #reports: (() => void)[] = []

  constructor(inFlight: InFlight, pace: PrefetchPolicy, clock: Clock, isRemote: boolean) {
    this.#inFlight = inFlight
    this.#pace = pace
    this.#clock = clock
    this.#isRemote = isRemote
  }

  /** Hands in what is finished, and takes what is next. What could not be handed in is news for the next time. */
  async make(source: Source, session: string, want: Capacity | null): Promise<SourceAnswer> {
    const outbox = source.outbox.take()
    const inFlight = this.#inFlight
    const nowMs = this.#clock.monotonicMs()
    const begun = this.#startsToTell(source, nowMs)
    const starts = begun.map(({ claim: { id, fence }, startedAt }) => ({ id, fence, startedAt }))
    const holding = this.#isInDoubt(source, nowMs) ? inFlight.ids(source) : undefined
    try {
      const answer = await source.exchange({ session, starts, ...outbox.parts, want, holding })
      const gaveBack = outbox.parts.outcomes.some(({ outcome }) => outcome.kind === 'returned')
      if (answer.compare) this.#compareAtMs.set(source, nowMs)
      else if (holding !== undefined) this.#compareAtMs.set(source, nowMs + COMPARE_EVERY_MS)
      for (const attempt of begun) attempt.startIsKnown = true
      this.#reports.push(() => source.report(inFlight.reporting, outbox.handedIn, answer))
      return { ...answer, gaveBack }
    } catch (error) {
      outbox.putBack()
      throw error
    }
  }

  /** Where each statement is a journey, not those that are likely to have ended before the next exchange. */
  #startsToTell(source: Source, nowMs: number) {
    const starts = this.#inFlight.unknownStarts(source)
    if (!this.#isRemote) return starts
    return starts.filter(({ startedMs }) => nowMs - startedMs >= this.#pace.startsWaitMs)
  }

  #isInDoubt(source: Source, nowMs: number): boolean {
    if (nowMs < this.#inDoubtUntilMs) return true
    if (!this.#isRemote) return false
    const dueMs = this.#compareAtMs.get(source)
    if (dueMs === undefined) this.#compareAtMs.set(source, nowMs + COMPARE_EVERY_MS)
    return dueMs !== undefined && dueMs <= nowMs
  }

  /** Nobody knows what came of the last one. */
  failed(): void {
    this.#inDoubtUntilMs = this.#clock.monotonicMs() + IN_DOUBT_MS
  }

  /** Tells what became of all that was handed in; after the next question has left, if there is one: the store works meanwhile. */
  report(nextIsUnderWay: boolean): void {
    if (nextIsUnderWay) setImmediate(() => this.report(false))
    else for (const report of this.#reports.splice(0)) report()
  }
}
