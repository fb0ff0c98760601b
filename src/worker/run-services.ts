import type { Clock } from '../clock.ts'
import type { Uses } from '../define/resource.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import { ClaimLostError } from '../errors.ts'
import type { Effects, NewLogLine } from '../store/ports/exchange.ts'
import type { Attempt } from './attempt/attempt.ts'
import { logEvent, type TaskEvent } from './attempt/events.ts'
import type { AttemptServices } from './attempt/services.ts'
import type { AttemptOutcome } from './attempt/source.ts'
import type { InFlight } from './in-flight.ts'
import type { ResourceTracker } from './resources/tracker.ts'
import type { WorkerSession } from './session.ts'
import type { WorkerState } from './state/worker-state.ts'
import { Cursors } from './steps/cursors.ts'
import type { StepServices } from './steps/services.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'

interface RunParts {
  options: WorkerOptions
  services: WorkerServices
  inFlight: InFlight
  resources: ResourceTracker
  session: WorkerSession
  state: WorkerState
}

/** What a running attempt may ask of its worker. */
export class RunServices implements AttemptServices {
  /** The id of the worker. */
  readonly worker: string
  readonly clock: Clock
  /** In [0, 1): spreads retries. */
  readonly random: () => number
  readonly payloadLimit: number
  readonly enqueue: Enqueue
  /** Takes part in the transaction that completes the item. */
  readonly enqueueWithin: (tx: Tx) => Enqueue
  /** Null: this attempt has no handler that could use steps. */
  readonly steps: StepServices | null
  readonly #parts: RunParts

  constructor(parts: RunParts) {
    const { options, services } = parts
    this.worker = options.id
    this.clock = services.clock
    this.random = services.random
    this.payloadLimit = options.payloadLimit
    this.enqueue = services.enqueue
    this.enqueueWithin = services.enqueueWithin
    this.#parts = parts
    this.steps = this.#stepServices(options.stepBytes)
  }

  /** Waits until the attempt has the resources that its handler needs. Its time-out begins then: loading has a time-out of its own. */
  async acquire(attempt: Attempt, uses: Uses): Promise<void> {
    const { inFlight, resources } = this.#parts
    inFlight.setDeadline(attempt, Number.POSITIVE_INFINITY)
    await resources.acquire(attempt, uses)
    inFlight.setDeadline(attempt, attempt.startedMs + attempt.timeoutMs)
  }

  note(attempt: Attempt, line: NewLogLine): void {
    if (attempt.settled) return
    attempt.source.outbox.logged(attempt, line, this.clock.monotonicMs())
    this.#parts.services.emitter.emit('log', () => logEvent(attempt.event, line))
  }

  progress(attempt: Attempt, fraction: number, message: string | null): void {
    if (attempt.settled) return
    attempt.source.outbox.progress(attempt, { fraction, message }, this.clock.monotonicMs())
    this.#parts.services.emitter.emit('progress', () => ({ ...attempt.event, fraction, message }))
  }

  /** An error: nothing was written, and this attempt can write nothing more. */
  async completeWith(attempt: Attempt, outcome: AttemptOutcome, effects: Effects): Promise<Error | null> {
    const { session, services, state } = this.#parts
    if (session.id === null) return new ClaimLostError(`${attempt.name}: the session was lost`)
    attempt.isCompleting = true
    attempt.outcome = outcome
    const completing = attempt.source.completeWith({
      session: session.id,
      attempt,
      effects,
      reporting: services,
    })
    const refusal = await completing.finally(() => (attempt.isCompleting = false))
    attempt.settled = true
    if (refusal === null) state.stats.ran(attempt, outcome, this.clock.monotonicMs() - attempt.startedMs)
    else state.stats.counters.fenced_writes += 1
    return refusal
  }

  #stepServices(bytesMax: number): StepServices {
    const parts = this.#parts
    const { clock, hooks, emitter, store, childTasks } = parts.services
    // The other parts of the worker are made after this one.
    const session = () => parts.session.id
    const lose = (item: string) => parts.inFlight.lose(item)
    return {
      store: store.steps,
      flows: store.flows,
      childTasks,
      cursors: new Cursors({ clock, steps: store.steps, session, lose }),
      bytesMax,
      session,
      unvisited(attempt, steps) {
        emitter.emit('steps-unvisited', () => ({ ...(attempt.event as TaskEvent), steps }))
        parts.state.stats.counters.unvisited_steps += steps.length
      },
      pause: (ms) => hooks.pause?.(ms) ?? new Promise((resolve) => clock.after(ms, resolve)),
    }
  }
}
