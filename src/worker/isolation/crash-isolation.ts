import type { Clock } from '../../clock.ts'
import type { Source, SourceAnswer } from '../attempt/source.ts'

/** After a suspect, other items have the process for that many times as long as the suspect took, or as the process took to start. */
const OTHERS_FACTOR = 19
/** But not for longer than that: a suspect may be as good as any other item. */
const OTHERS_MAX_MS = 60_000
/** For a process that started in no time. */
const OTHERS_FIRST_MS = 3_000

/** What a member of the process holds: a worker, or claims by hand. */
interface Holder {
  readonly running: number
  readonly prefetched: { readonly size: number }
  readonly runsSuspect: boolean
}

interface Member {
  nudge: () => void
  /** For the process to be empty. */
  suspectWaits: boolean
}

/** The worker that made a claim. */
interface Claiming {
  inFlight: Holder
  sources: { readonly suspectsWait: boolean }
  state: { readonly isWorking: boolean }
  polling: { nudge(): void }
}

/**
 * May a worker claim beside the others of its process? They live and die together. A suspect runs alone in the process: if it
 * crashes the process, no other item is to blame, and no other item suffers.
 */
export class CrashIsolation {
  readonly #members = new Map<Holder, Member>()
  /** Kept up to date, because it is read at the end of every run. */
  #suspectWaits = false
  #turn: Promise<unknown> = Promise.resolve()
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #suspectsFromMs: number | undefined
  /** Since when the process is being emptied for a suspect, and how long that took before. */
  #emptyingSinceMs: number | undefined
  #emptyingMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  join(holder: Holder, nudge: () => void): void {
    // Its age when it begins to work is the time that its start took.
    const startMs = this.#clock.monotonicMs()
    this.#suspectsFromMs ??= startMs + Math.max(OTHERS_FIRST_MS, othersMs(startMs))
    this.#members.set(holder, { nudge, suspectWaits: false })
  }

  leave(holder: Holder): void {
    this.suspectsWaiting(holder, false)
    this.#members.delete(holder)
  }

  /** No worker of the process holds anything. */
  get isEmpty(): boolean {
    return [...this.#members.keys()].every(
      ({ running, prefetched }) => running === 0 && prefetched.size === 0,
    )
  }

  /**
   * A suspect may have crashed the process before this one, and another may hang until its time-out, alone in the process. That must not
   * keep all processes from other work, one after the other. So suspects get a twentieth of the time. A worker that has nothing else
   * to do takes one at once.
   */
  get isTimeForSuspects(): boolean {
    return this.#clock.monotonicMs() >= this.#suspectsFromMs!
  }

  /**
   * Nothing runs beside a suspect. While one waits, no worker claims anything, so that the process becomes empty. Then the worker whose
   * suspect waits claims first, or the others would fill the process again and again.
   */
  mayClaim(holder: Holder): boolean {
    if ([...this.#members.keys()].some((member) => member.runsSuspect)) return false
    if (!this.#suspectWaits) return true
    return this.isEmpty && this.#members.get(holder)!.suspectWaits
  }

  /** The process is empty, and this source may give a suspect. */
  mayClaimSuspect(source: Source): boolean {
    return this.isEmpty && (source.suspectsWait || source.suspectsGoFirst(this))
  }

  /** A claim tells whether suspects wait for an empty process. */
  heard(
    { inFlight, sources, state, polling }: Claiming,
    source: Source,
    { suspectsWaiting, claims }: SourceAnswer,
  ): void {
    // A stopping worker never claims the suspect, so it must not reserve the process for it.
    const mayWait = suspectsWaiting && state.isWorking
    source.suspectsWait = mayWait && (claims.length === 0 || source.suspectsGoFirst(this))
    this.suspectsWaiting(inFlight, sources.suspectsWait)
    if (source.suspectsWait && this.isEmpty) polling.nudge()
  }

  suspectsWaiting(holder: Holder, waiting: boolean): void {
    const member = this.#members.get(holder)!
    const done = member.suspectWaits && !waiting
    member.suspectWaits = waiting
    this.#suspectWaits = [...this.#members.values()].some((one) => one.suspectWaits)
    this.#noteEmptying()
    if (done) this.#nudgeAll()
  }

  /** Workers that wait for an empty process, or for the end of a suspect's run, look again. */
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

  /** One claim at a time: a worker that asks whether the process is empty must not be overtaken by the claim of another. */
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
