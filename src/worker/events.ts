import type { GleanerError } from '../errors.ts'
import { readExactly } from '../exact-json.ts'
import type { EndCause } from '../model/session.ts'
import type { Failure, LogLevel } from '../model/task.ts'
import type { NewLogLine } from '../store/contract.ts'
import { messageOf } from '../thrown.ts'

/** What is told of a task or a row. The id of a row is `<discovery>/<key>`, and its name the discovery's. */
export interface TaskEvent {
  id: string
  name: string
  /** Null for a row. */
  queue: string | null
  attempt: number
  maxAttempts: number
  worker: string | null
}

/** What `gleaner.on` tells, about work of this process. How an attempt ended is told after it was committed. */
export interface Events {
  started: TaskEvent
  completed: TaskEvent & { durationMs: number }
  failed: TaskEvent & { durationMs: number; error: Failure }
  retrying: TaskEvent & { durationMs: number; error: Failure; afterMs: number }
  cancelled: TaskEvent
  /** Handed back unfinished, or asked for another time. The attempt was returned. */
  returned: TaskEvent
  /** The claim was in other hands: what the handler did was refused. */
  'claim-lost': TaskEvent
  /** A row was edited while it was worked on: nothing was written, and it stays to be done. */
  changed: TaskEvent & { times: number; backsOffMs: number | null }
  /** A row was deleted, or ceased to need work, while it was worked on: nothing was written. */
  gone: TaskEvent
  progress: TaskEvent & { fraction: number; message: string | null }
  /** A line of `ctx.log`. Those of tasks are also stored; a row is the only state there is of it. */
  log: TaskEvent & { level: LogLevel; message: string; details: unknown }
  /** A worker of some process is gone, and this process gave back what it held. */
  'worker-lost': {
    worker: string
    cause: EndCause
    returned: number
    blamed: string | null
    workerBroken: boolean
  }
  /** A worker of this process gave up: too many resource errors in a row. */
  'worker-failed': { worker: string; error: GleanerError }
  /** Something that is nobody's task: a database that is away, a hook that threw. */
  problem: { message: string; error: unknown }
}

export function logEvent(event: TaskEvent, { level, message, details }: NewLogLine): Events['log'] {
  return { ...event, level, message, details: details === null ? null : readExactly(details) }
}

type Listener = (event: any) => void

/** A listener that throws harms neither the work nor the other listeners. */
export class Emitter {
  readonly #listeners = new Map<keyof Events, Set<Listener>>()

  on<E extends keyof Events>(event: E, listener: (event: Events[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  hears(event: keyof Events): boolean {
    return (this.#listeners.get(event)?.size ?? 0) > 0
  }

  /** The event is made only when somebody listens. */
  emit<E extends keyof Events>(event: E, make: () => Events[E]): void {
    if (!this.hears(event)) {
      if (event === 'problem') warn(make() as Events['problem'])
      return
    }
    const made = make()
    for (const listener of this.#listeners.get(event)!) {
      harmless(
        () => listener(made),
        (error) => {
          if (event !== 'problem')
            this.emit('problem', () => ({ message: `a listener of '${event}' threw`, error }))
        },
      )
    }
  }
}

/** Runs code of the user's that nobody waits for: whether it throws now or rejects later, nothing else suffers. */
export function harmless(run: () => unknown, onError: (error: unknown) => void): void {
  try {
    Promise.resolve(run()).catch(onError)
  } catch (error) {
    onError(error)
  }
}

/** A problem that nobody listens for is still somebody's problem. */
function warn({ message, error }: Events['problem']): void {
  process.emitWarning(`${message}: ${messageOf(error)}`, 'GleanerWarning')
}
