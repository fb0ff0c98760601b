import type { Clock } from '../clock.ts'
import { ClaimLostError, TaskCancelled, TimeoutError } from '../errors.ts'
import type { Attempt, SettledAttempt } from './attempt/attempt.ts'
import type { Emitter } from './attempt/events.ts'
import { outcomeOfError } from './attempt/outcome-of-error.ts'
import type { AttemptOutcome, Source } from './attempt/source.ts'
import { Prefetched } from './prefetch/prefetched.ts'
import type { HeldItem } from './state/snapshot.ts'

/** Told about each attempt before its handler is called, so that running items are known even while the event loop is blocked. */
export interface RunWatch {
  began(attempt: Attempt): void
  /** Its deadline has changed. */
  timed(attempt: Attempt): void
  /** The attempt in this place ended. `successor`: the attempt that moved there from the last place, or null. */
  ended(place: number, successor: Attempt | null): void
}

export interface InFlightOptions {
  clock: Clock
  emitter: Emitter
  /** Between an abort and the end of waiting for the handler. */
  graceMs: number
  watch?: RunWatch
  /** Those of a worker that has batch handlers. */
  batches?: { readonly folded: number }
  /** The worker can claim more, or has something to settle that should not wait. */
  onFree: () => void
}

/** What does the worker hold? The attempts that run, with their deadlines, and the prefetched items. */
export class InFlight {
  readonly prefetched = new Prefetched()
  /**
   * A Set would do the same and cost the garbage collector a third of its work: it moves to new tables as attempts come and go, and each
   * old table keeps its attempts, and the next table, from being collected young.
   */
  readonly #running: Attempt[] = []
  readonly #options: Readonly<InFlightOptions>
  /** One timer for all attempts, set to the earliest deadline. */
  #timerAtMs = Number.POSITIVE_INFINITY
  #cancelTimer = () => {}
  #whenEmpty: (() => void)[] = []

  constructor(options: InFlightOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running.length
  }

  /** The slots that are taken. A call of a batch handler takes one, however many attempts it is for. */
  get occupied(): number {
    return this.#running.length - (this.#options.batches?.folded ?? 0)
  }

  add(attempt: Attempt): void {
    attempt.place = this.#running.push(attempt) - 1
    this.#options.watch?.began(attempt)
    this.#setTimer(attempt.deadlineMs)
  }

  /** The last attempt moves to its place. */
  remove({ place }: Attempt): void {
    const { watch } = this.#options
    const last = this.#running.pop()!
    if (place === this.#running.length) return watch?.ended(place, null)
    this.#running[place] = last
    last.place = place
    watch?.ended(place, last)
  }

  /** From now on the outbox has it. */
  settle(attempt: Attempt, outcome: AttemptOutcome, nowMs: number): void {
    attempt.settled = true
    attempt.outcome = outcome
    attempt.endedMs = nowMs
    attempt.source.outbox.settled(attempt as SettledAttempt, nowMs)
  }

  /** Its time-out begins at its `startedMs`. Infinity: not yet. */
  setDeadline(attempt: Attempt, deadlineMs: number): void {
    attempt.deadlineMs = deadlineMs
    this.#options.watch?.timed(attempt)
    this.#setTimer(deadlineMs)
  }

  /** Attempts at prefetched items whose start the store does not know yet. */
  unknownStarts(source: Source): Attempt[] {
    return this.#running.filter((one) => !one.startIsKnown && !one.settled && one.source === source)
  }

  /** All items of this source that the worker knows to hold. */
  ids(source: Source): string[] {
    const running = this.#running.filter((one) => !one.settled && one.source === source)
    return [...running.map(({ id }) => id), ...this.prefetched.ids(source)]
  }

  get runsSuspect(): boolean {
    return this.#running.some(({ claim }) => claim.suspect)
  }

  /** For people: the oldest first. */
  current(): HeldItem[] {
    const { clock } = this.#options
    const leadMs = clock.now() - clock.monotonicMs()
    return [...this.#running]
      .sort((a, b) => a.startedAt - b.startedAt || a.fence - b.fence)
      .map(({ item, fence, startedAt, deadlineMs }) => ({
        item,
        fence,
        since: startedAt,
        deadline: Number.isFinite(deadlineMs) ? Math.round(leadMs + deadlineMs) : null,
      }))
  }

  /** By request: an attempt is aborted. A prefetched item goes back and is cancelled there. */
  cancel(id: string): void {
    const attempt = this.#find(id)
    if (attempt !== undefined && attempt.context.abortReason === undefined)
      this.#abort(attempt, new TaskCancelled(id))
    const prefetched = this.prefetched.remove(id)
    if (prefetched !== undefined)
      prefetched.source.outbox.returned(prefetched.item, this.#options.clock.monotonicMs())
  }

  /** Another worker has the claim. An attempt that is being completed learns it from its own transaction, or has just been completed. */
  lose(id: string): void {
    const attempt = this.#find(id)
    if (attempt !== undefined && !attempt.isCompleting) this.#lose(attempt)
    this.prefetched.remove(id)
  }

  loseEverything(): void {
    this.prefetched.take()
    for (const attempt of this.#running) if (!attempt.settled) this.#lose(attempt)
  }

  abortAll(reason: Error): void {
    for (const attempt of this.#running) if (!attempt.settled) this.#abort(attempt, reason)
  }

  /** The worker stops without the handlers that still run. Their outcomes are ignored. */
  abandonAll(): void {
    for (const attempt of this.#running) {
      attempt.settled = true
      attempt.trace?.ended({ kind: 'returned' })
    }
    this.#cancelTimer()
  }

  /** Resolves when nothing runs, or after this time. */
  emptyWithin(ms: number): Promise<void> {
    if (this.#running.length === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve)
      this.#whenEmpty.push(() => {
        cancel()
        resolve()
      })
    })
  }

  /** Ends all waits for emptiness, whatever still runs. */
  waitNoLonger(): void {
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  #find(id: string): Attempt | undefined {
    return this.#running.find((attempt) => attempt.id === id && !attempt.settled)
  }

  #lose(attempt: Attempt): void {
    attempt.settled = true
    attempt.context.abort(new ClaimLostError(`the claim on ${attempt.name} ${attempt.id} was lost`))
    attempt.trace?.ended({ kind: 'claim-lost' })
    this.#options.emitter.emit('claim-lost', () => attempt.event)
  }

  #abort(attempt: Attempt, reason: Error): void {
    attempt.deadlineMs = this.#options.clock.monotonicMs() + this.#options.graceMs
    attempt.context.abort(reason)
    this.#setTimer(attempt.deadlineMs)
  }

  #setTimer(atMs: number): void {
    if (atMs >= this.#timerAtMs) return
    this.#cancelTimer()
    this.#timerAtMs = atMs
    this.#cancelTimer = this.#options.clock.after(atMs - this.#options.clock.monotonicMs(), () => {
      this.#timerAtMs = Number.POSITIVE_INFINITY
      this.#expire(this.#options.clock.monotonicMs())
    })
  }

  #expire(nowMs: number): void {
    for (const attempt of this.#running) {
      if (attempt.deadlineMs <= nowMs) this.#expireOne(attempt)
      if (!attempt.settled) this.#setTimer(attempt.deadlineMs)
    }
  }

  #expireOne(attempt: Attempt): void {
    const { abortReason } = attempt.context
    if (abortReason === undefined) return this.#abort(attempt, new TimeoutError(attempt.timeoutMs))
    if (attempt.settled) return
    // The handler ignored the signal: the item is settled without it. Its slot stays taken until the handler returns.
    this.settle(attempt, outcomeOfError(attempt, abortReason), this.#options.clock.monotonicMs())
    this.#options.onFree()
  }
}
