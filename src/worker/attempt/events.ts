import type { GleanerError } from '../../errors.ts'
import { readExactly } from '../../exact-json.ts'
import type { EndCause } from '../../model/session.ts'
import type { Failure, LogLevel } from '../../model/task.ts'
import type { Wait } from '../../model/wait.ts'
import type { NewLogLine } from '../../store/ports/exchange.ts'
import { messageOf } from '../../thrown.ts'

/** The item of an event: a task or a row. The id of a row is `<discovery>/<key>`, and its name is the name of the discovery. */
export interface TaskEvent {
  /** The id of the task, or the key of the row. */
  id: string
  /** The name of the task or the discovery. */
  name: string
  /** The queue of the task. Null for a row. */
  queue: string | null
  /** The number of the attempt, from 1. */
  attempt: number
  /** How many attempts there are at most. */
  maxAttempts: number
  /** The worker that runs it. */
  worker: string | null
}

/** The events of `gleaner.on`, about work of this process. An event about the end of an attempt follows its commit. */
export interface Events {
  /** A run begins. */
  started: TaskEvent
  /** A run completed, and the result is stored. */
  completed: TaskEvent & { durationMs: number }
  /** A run failed, and there is no further attempt. */
  failed: TaskEvent & { durationMs: number; error: Failure }
  /** A run failed, and another attempt follows. */
  retrying: TaskEvent & { durationMs: number; error: Failure; afterMs: number }
  /** A running item was cancelled. */
  cancelled: TaskEvent
  /** The item went back unfinished, or its handler asked to run later. It lost no attempt. */
  returned: TaskEvent
  /** The item waits for signals or for children, and holds no worker. It lost no attempt. */
  suspended: TaskEvent & { waits: readonly Wait[] }
  /** Another worker holds the claim now, so the database refused the outcome of this run. */
  'claim-lost': TaskEvent
  /** A row was edited during its run. Nothing was written, and the row stays eligible. */
  changed: TaskEvent & { times: number; backsOffMs: number | null }
  /** A row was deleted during its run, or no longer needs work. Nothing was written. */
  gone: TaskEvent
  /** A handler reported progress. */
  progress: TaskEvent & { fraction: number; message: string | null }
  /** An earlier attempt kept steps that this one did not come to: the code has changed. Their results are not used. */
  'steps-unvisited': TaskEvent & { steps: readonly string[] }
  /** A line of `ctx.log`. Lines of tasks are also stored. Lines of rows are not. */
  log: TaskEvent & { level: LogLevel; message: string; details: unknown }
  /** A worker of any process is gone, and this process returned its items. */
  'worker-lost': {
    worker: string
    cause: EndCause
    returned: number
    blamed: string | null
    workerBroken: boolean
  }
  /** A worker of this process gave up after too many resource errors in a row. */
  'worker-failed': { worker: string; error: GleanerError }
  /** A problem that belongs to no task, for example a database that cannot be reached or a hook that threw. */
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

  /** The event is made only if there is a listener. */
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

/** A problem without a listener is still printed as a warning. */
function warn({ message, error }: Events['problem']): void {
  process.emitWarning(`${message}: ${messageOf(error)}`, 'GleanerWarning')
}
