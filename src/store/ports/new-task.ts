import type { Carrier } from '../../define/telemetry.ts'
import type { OnFailure } from '../../model/flow.ts'
import type { WhenHeld } from '../../model/held-key.ts'
import type { Requires } from '../../model/task.ts'
import type { NewSignal, SignalAnswer } from './signals.ts'

export interface NewTask {
  name: string
  queue: string
  requires: Requires | null
  priority: number
  /** JSON, checked and bounded before it comes here; null for no input. */
  input: string | null
  key: string | null
  keyScope: 'active' | 'forever'
  /** What to do when the key is held; null: nothing, and the holder is named. */
  whenHeld: WhenHeld | null
  maxAttempts: number
  /** What this enqueue set differently from the task's definition. */
  overrides: Overrides | null
  /** Tasks of one name and queue with the same share a limit. Left out: its task has none. */
  limitKey?: string
  /** Tasks of one name with the same run one at a time, in the order of enqueue. Left out: its task has no order. */
  orderKey?: string
  /** Relative, because the store's clock decides; a date is absolute. Null: now. */
  runAfter: { ms: number } | { at: number } | null
  /** It runs when these have ended. */
  after?: After
  /** The flow that it belongs to. 0: others wait for it, or it waits for others. */
  flow?: number
  /** It waits until it is resumed. */
  suspended?: true
}

/** Tasks that a task waits for before it runs. */
export interface After {
  /** Their ids. */
  tasks: readonly string[]
  onFailure: OnFailure
}

/** Stored with a task as JSON; the definition in the worker's code provides the rest. */
export interface Overrides {
  retry?: { backoff?: 'fixed' | 'linear' | 'exponential'; baseMs?: number; maxMs?: number; jitter?: number }
  timeoutMs?: number
  /** Where it came from, for tracing. Only present if the app traces. */
  trace?: Carrier
}

/** `created: false`: the key was held, and `id` is its holder. */
export interface Enqueued {
  id: string
  created: boolean
}

export interface Within {
  readonly synchronous: boolean
  enqueue(tasks: readonly NewTask[]): Enqueued[] | Promise<Enqueued[]>
  signal(signal: NewSignal): SignalAnswer | Promise<SignalAnswer>
}
