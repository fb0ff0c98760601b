import type { Clock } from '../../clock.ts'
import type { InFlight } from '../in-flight.ts'

/** Others have a process for that many times as long as a suspect took from them; or as it took to start. */
const OTHERS_FACTOR = 19
/** But not for longer than that: a suspect, too, may be as good as any. */
const OTHERS_MAX_MS = 60_000
/** A process that started in no time. */
const OTHERS_FIRST_MS = 3_000

interface Member {
  nudge: () => void
  /** For the house to be empty. */
  suspectWaits: boolean
}

/**
 * The workers of one process, which live and die together. A suspect runs alone in the process: if it takes it down,
 * nobody else can be blamed, and nobody else suffers.
 */
export class CrashIsolation {
  readonly #members = new Map<InFlight, Member>()
  /** Known without a look at the members: it is asked at the end of every run. */
  #suspectWaits = false
  #turn: Promise<unknown> = Promise.resolve()
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #suspectsFromMs: number | undefined
  /** Since when the house is being emptied for one; and how long that took before. */
  #emptyingSinceMs: number | undefined
  #emptyingMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  join(inFlight: InFlight, nudge: () => void): void {
    // As old as it is, as it begins to work: that is what its start took.
    const startMs = this.#clock.monotonicMs()
    this.#suspectsFromMs ??= startMs + Math.max(OTHERS_FIRST_MS, othersMs(startMs))
    this.#members.set(inFlight, { nudge, suspectWaits: false })
  }

  leave(inFlight: InFlight): void {
    this.suspectsWaiting(inFlight, false)
    this.#members.delete(inFlight)
  }

  /** Nobody holds anything. */
  get isEmpty(): boolean {
    return [...this.#members.keys()].every((inFlight) => inFlight.running === 0 && inFlight.ahead === 0)
  }

  /**
   * A new process may be here because a suspect took its predecessor down, and others hang until their time is out, with the
   * house to themselves: what does so must not keep all processes from other work, one after the other. So suspects get a
   * twentieth of the time. Who has nothing else to do takes one at once.
   */
  get isTimeForSuspects(): boolean {
    return this.#clock.monotonicMs() >= this.#suspectsFromMs!
  }

  /**
   * Beside a suspect nothing runs. While one waits we take nothing more, so that the house becomes empty; and then the
   * worker goes first whose suspect it is, or others would fill the house again and again.
   */
  mayClaim(inFlight: InFlight): boolean {
    if ([...this.#members.keys()].some((member) => member.runsSuspect)) return false
    if (!this.#suspectWaits) return true
    return this.isEmpty && this.#members.get(inFlight)!.suspectWaits
  }

  suspectsWaiting(inFlight: InFlight, waiting: boolean): void {
    const member = this.#members.get(inFlight)!
    const done = member.suspectWaits && !waiting
    member.suspectWaits = waiting
    this.#suspectWaits = [...this.#members.values()].some((one) => one.suspectWaits)
    this.#noteEmptying()
    if (done) this.#nudgeAll()
  }

  /** Whoever waits for an empty house, or for the end of a suspect's run, looks again. */
  ended(wasSuspect: boolean, ranMs: number): void {
    if (wasSuspect) this.#othersFirst(ranMs)
    if (wasSuspect || this.#suspectWaits) this.#nudgeAll()
  }

  #noteEmptying(): void {
    const nowMs = this.#clock.monotonicMs()
    if (!this.#suspectWaits) this.#emptyingMs += nowMs - (this.#emptyingSinceMs ?? nowMs)
    this.#emptyingSinceMs = this.#suspectWaits ? (this.#emptyingSinceMs ?? nowMs) : undefined
  }

  #othersFirst(ranMs: number): void {
    const tookMs = this.#emptyingMs + ranMs
    this.#emptyingMs = 0
    const fromMs = this.#clock.monotonicMs() + othersMs(tookMs)
    this.#suspectsFromMs = Math.max(this.#suspectsFromMs!, fromMs)
  }

  #nudgeAll(): void {
    for (const { nudge } of this.#members.values()) nudge()
  }

  /** One claim at a time: whoever asks "is everybody empty?" must not be overtaken by another's claim. */
  inTurn<T>(claim: () => Promise<T>): Promise<T> {
    if (this.#members.size < 2) return claim()
    const turn = this.#turn.then(claim)
    this.#turn = turn.catch(() => {})
    return turn
  }
}

function othersMs(tookMs: number): number {
  return Math.min(tookMs * OTHERS_FACTOR, OTHERS_MAX_MS)
}
