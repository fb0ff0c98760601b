import type { Clock } from '../clock.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { Meter } from '../observe/meter.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { Store } from '../store/ports/store.ts'
import type { Emitter } from './attempt/events.ts'
import type { RunHooks } from './attempt/hooks.ts'
import type { Source } from './attempt/source.ts'
import type { RunWatch } from './in-flight.ts'
import type { CrashIsolation } from './isolation/crash-isolation.ts'
import type { Keeper } from './keeper/keeper.ts'
import type { ChildTasks } from './steps/children.ts'

export interface PollTimings {
  idleMinMs: number
  idleMaxMs: number
  /** How soon a cancel is noticed if its wake-up is lost. */
  pollMs: number
}

export interface WorkerOptions {
  id: string
  capabilities: Capabilities
  sources: readonly Source[]
  concurrency: number
  /** Resource errors in a row after which it gives up. */
  resourceErrorLimit: number
  payloadLimit: number
  /** The largest result of a step, in bytes of JSON. */
  stepBytes: number
  /** `graceMs`: between an abort and the end of waiting for the handler. */
  timings: PollTimings & { graceMs: number }
  /** The process that supervises this one. */
  supervisor?: ProcessIdentity
  /** It begins with a pause. */
  paused?: boolean
}

/** What the engine shares among all its workers. */
export interface WorkerServices {
  store: Pick<Store, 'sessions' | 'steps' | 'flows' | 'remote' | 'onChange'>
  clock: Clock
  random: () => number
  emitter: Emitter
  hooks: RunHooks
  meter: Meter
  enqueue: Enqueue
  enqueueWithin: (tx: Tx) => Enqueue
  /** Turns inputs into tasks, and stored results into values. */
  childTasks: ChildTasks
  watch?: RunWatch
  keeper: Keeper
  isolation: CrashIsolation
}
