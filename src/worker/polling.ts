import type { Clock } from '../clock.ts'
import type { Change } from '../store/ports/change.ts'
import type { Source, SourceAnswer } from './attempt/source.ts'
import type { InFlight } from './in-flight.ts'
import type { ResourceTracker } from './resources/tracker.ts'
import type { Sources } from './sources/sources.ts'
import type { WorkerState } from './state/worker-state.ts'
import type { PollTimings, WorkerOptions, WorkerServices } from './worker-options.ts'

/** The outbox waits this long for more, so that short items share a transaction. */
const GATHER_MS = 20
/** Rest after a failed exchange. */
const TROUBLE_MS = 1_000
const IDLE_FACTOR = 1.5

/** When does the worker look for work again? When it is nudged, when something becomes due, or after a backoff. */
export class Polling {
  readonly #clock: Clock
  readonly #timings: PollTimings
  #idleMs: number
  #nudged = false
  #hurried = false
  #wake: (() => void) | undefined

  constructor(clock: Clock, timings: PollTimings) {
    this.#clock = clock
    this.#timings = timings
    this.#idleMs = timings.idleMinMs
  }

  /** It rests, and nothing has nudged it. */
  get isResting(): boolean {
    return this.#wake !== undefined && !this.#nudged
  }

  /** Ends the rest. A nudge during a turn is kept: another turn follows at once. */
  nudge(): void {
    this.#nudged = true
    this.#wake?.()
  }

  /** The next turn begins before the event loop has its turn. */
  hurry(): void {
    this.#hurried = true
    this.nudge()
  }

  /** Something arrived, so the next look is soon. */
  resetBackoff(): void {
    this.#idleMs = this.#timings.idleMinMs
  }

  heard(source: Source, { claims, nextDueInMs }: SourceAnswer): void {
    source.nextDueMs = this.#clock.monotonicMs() + (nextDueInMs ?? Number.POSITIVE_INFINITY)
    if (claims.length > 0) this.resetBackoff()
  }

  async rest(worker: Resting): Promise<void> {
    // Handlers that never wait must not keep the timers and sockets of the process waiting.
    if (!this.#hurried) await new Promise(setImmediate)
    this.#hurried = false
    if (!this.#nudged) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(this.#restMs(worker), () => this.nudge())
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    }
    this.#wake = undefined
    this.#nudged = false
  }

  /** How long the next turn can wait if nothing nudges the worker. */
  #restMs({ inFlight, sources, state }: Resting): number {
    if (state.isTroubled) return TROUBLE_MS
    const nowMs = this.#clock.monotonicMs()
    const reasons = [this.#nextLookMs(inFlight.running > 0)]
    for (const source of sources) {
      reasons.push(source.nextDueMs - nowMs)
      if (source.outbox.sinceMs !== undefined) reasons.push(source.outbox.sinceMs + GATHER_MS - nowMs)
      for (const { startedMs } of inFlight.unknownStarts(source)) reasons.push(startedMs + GATHER_MS - nowMs)
    }
    if (inFlight.prefetched.size > 0) reasons.push(inFlight.prefetched.checkInMs(nowMs))
    return Math.max(0, Math.min(...reasons))
  }

  /** The fallback if every wake-up is lost: longer each time while there is nothing to do. */
  #nextLookMs(isBusy: boolean): number {
    if (isBusy) return this.#timings.pollMs
    const idleMs = this.#idleMs
    this.#idleMs = Math.min(this.#idleMs * IDLE_FACTOR, this.#timings.idleMaxMs)
    return idleMs
  }
}

interface Resting {
  inFlight: InFlight
  sources: Sources
  state: WorkerState
}

interface Listening extends Resting {
  options: WorkerOptions
  services: WorkerServices
  resources: ResourceTracker
}

/** What a worker does about a change of the store: whether it looks for work, and whether it takes a new task that another worker would take otherwise. */
export function answerTo(change: Change, worker: Listening): 'nothing' | 'look' | 'take' {
  if (!isWorthWaking(change, worker)) return 'nothing'
  if (change.kind !== 'elsewhere' || change.task?.turn !== 'ours') return 'look'
  const { inFlight, sources, services, resources, state } = worker
  const { queue, name } = change.task
  const { queues, names } = sources.serves
  const isServed = queues.includes(queue) && names.includes(name) && !resources.without().includes(name)
  return isServed && state.isWorking && services.isolation.mayClaim(inFlight) ? 'take' : 'nothing'
}

function isWorthWaking(change: Change, { inFlight, options }: Listening): boolean {
  const { running, occupied, prefetched } = inFlight
  const what = change.kind === 'elsewhere' ? change.only : change.kind
  if (what === 'ended' || what === 'schedules') return false
  if (what === 'cancel') return running + prefetched.size > 0
  // A worker that is busy with short items makes an exchange within milliseconds anyway.
  if (prefetched.size > 0) return false
  const isOfTasks = change.kind === 'elsewhere' && change.task !== undefined
  return (what !== 'work' && !isOfTasks) || occupied < options.concurrency
}
