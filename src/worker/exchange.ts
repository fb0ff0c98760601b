import type { Clock } from '../clock.ts'
import type { Hands } from './hands.ts'
import type { Room, Source, Taken } from './sources/source.ts'

/** A commit whose answer was lost may still go through for that long. */
const IN_DOUBT_MS = 60_000

/** What passes between a worker and its store. */
export class Exchanges {
  readonly #hands: Hands
  readonly #clock: Clock
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY
  #reports: (() => void)[] = []

  constructor(hands: Hands, clock: Clock) {
    this.#hands = hands
    this.#clock = clock
  }

  /** Hands in what is finished, and takes what is next. What could not be handed in is news for the next time. */
  async make(source: Source, session: string, want: Room | null): Promise<Taken> {
    const news = source.news.take()
    const hands = this.#hands
    const begun = hands.unknownStarts(source)
    const starts = begun.map(({ claim: { id, fence }, startedAt }) => ({ id, fence, startedAt }))
    const inDoubt = this.#clock.monotonicMs() < this.#inDoubtUntilMs
    const holding = inDoubt ? hands.ids(source) : undefined
    try {
      const answer = await source.exchange({ session, starts, ...news.parts, want, holding })
      for (const execution of begun) execution.startIsKnown = true
      this.#reports.push(() => source.report(hands.reporting, news.handedIn, answer))
      return answer
    } catch (error) {
      news.putBack()
      throw error
    }
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
