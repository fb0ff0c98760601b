import type { Clock } from '../clock.ts'
import { checkAgainst } from '../define/schema.ts'
import type { TaskDefinition } from '../define/task.ts'
import type { Handle, Stored } from '../define/types.ts'
import { type Duration, durationMs } from '../duration.ts'
import { GleanerError, TaskCancelled, TaskFailed, TaskGone, WaitTimeout } from '../errors.ts'
import type { Change } from '../store/ports/change.ts'
import type { Store } from '../store/ports/store.ts'
import type { TaskResult } from '../store/ports/tasks.ts'

/** What all handles share, because there may be a hundred thousand. */
export interface HandleServices {
  store: Pick<Store, 'tasks' | 'admin'>
  results: PendingResults
}

export class TaskHandle<R> implements Handle<R> {
  readonly id: string
  readonly created: boolean
  readonly #definition: TaskDefinition
  readonly #services: HandleServices

  constructor(id: string, created: boolean, definition: TaskDefinition, services: HandleServices) {
    this.id = id
    this.created = created
    this.#definition = definition
    this.#services = services
  }

  async result(options: { timeout?: Duration } = {}): Promise<Stored<R>> {
    const timeoutMs = options.timeout === undefined ? undefined : durationMs(options.timeout, 'timeout')
    const ending = await this.#services.results.wait(this.id, timeoutMs)
    if (ending === 'closed') throw new GleanerError('Gleaner was closed during the wait', { code: 'CLOSED' })
    if (ending === undefined) throw new WaitTimeout(this.id, timeoutMs ?? 0)
    switch (ending.status) {
      case 'completed':
        return (await readResult(this.#definition, ending.result)) as Stored<R>
      case 'failed':
        throw new TaskFailed(this.id, ending.error ?? { kind: 'error', message: 'unknown' })
      case 'cancelled':
        throw new TaskCancelled(this.id)
      case 'gone':
        throw new TaskGone(this.id)
    }
  }

  async cancel(): Promise<void> {
    const answer = await this.#services.store.tasks.cancelTask(this.id)
    if (answer === 'gone') throw new TaskGone(this.id)
  }
}

/** `output` speaks for results of code that lives elsewhere: what does not fit is refused here. */
export function readResult({ output, name }: TaskDefinition, result: unknown): unknown {
  return output === undefined ? (result ?? undefined) : checkAgainst(output, result, `result of ${name}`)
}

/** Tasks read at once when a change does not say which of them ended. */
const LOOK_MAX = 500

/** `undefined`: the time-out passed before the task ended. */
type Answer = TaskResult | undefined | 'closed'
type Resolve = (answer: Answer) => void

/** Resolves waiting handles when their tasks end, in any process. */
export class PendingResults {
  readonly #store: Pick<Store, 'tasks' | 'onChange'>
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #waiting = new Map<string, Set<Resolve>>()
  #unsubscribe: (() => void) | undefined
  #cancelPoll: (() => void) | undefined
  #toLookAt = new Set<string>()
  #looking = false
  #closed = false

  /** `pollMs`: how often it reads if every wake-up is lost. */
  constructor(store: Pick<Store, 'tasks' | 'onChange'>, clock: Clock, pollMs: number) {
    this.#store = store
    this.#clock = clock
    this.#pollMs = pollMs
  }

  /** How the task ended. `undefined`: `timeoutMs` passed before. `closed`: the engine was closed. */
  wait(id: string, timeoutMs: number | undefined): Promise<Answer> {
    if (this.#closed) return Promise.resolve('closed')
    return new Promise((resolve) => {
      const done = (answer: Answer) => {
        cancelTimeout?.()
        this.#forget(id, done)
        resolve(answer)
      }
      const cancelTimeout =
        timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, () => done(undefined))
      const others = this.#waiting.get(id)
      if (others === undefined) this.#waiting.set(id, new Set([done]))
      else others.add(done)
      this.#unsubscribe ??= this.#store.onChange((change) => this.#onChange(change))
      // The task may have ended before this process began to listen.
      this.#look([id])
    })
  }

  close(): void {
    this.#closed = true
    for (const waiting of [...this.#waiting.values()]) for (const done of [...waiting]) done('closed')
  }

  #forget(id: string, done: Resolve): void {
    const waiting = this.#waiting.get(id)
    waiting?.delete(done)
    if (waiting?.size === 0) this.#waiting.delete(id)
    if (this.#waiting.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
  }

  #onChange(change: Change): void {
    if (change.kind === 'ended') this.#look(change.ids.filter((id) => this.#waiting.has(id)))
    else if (change.kind === 'elsewhere' && (change.only ?? 'ended') === 'ended')
      this.#look(this.#someWaiting())
  }

  /** Round robin, so that thousands of handles do not cost thousands of reads at every change. */
  #someWaiting(): string[] {
    const ids = [...this.#waiting.keys()].slice(0, LOOK_MAX)
    for (const id of ids) {
      const waiting = this.#waiting.get(id)!
      this.#waiting.delete(id)
      this.#waiting.set(id, waiting)
    }
    return ids
  }

  #look(ids: readonly string[]): void {
    for (const id of ids) this.#toLookAt.add(id)
    if (this.#looking || this.#toLookAt.size === 0) return
    this.#looking = true
    setImmediate(() => void this.#lookNow())
  }

  async #lookNow(): Promise<void> {
    const ids = [...this.#toLookAt]
    this.#toLookAt = new Set()
    // A failed read does not end the wait, because the poll reads again.
    const endings = await this.#store.tasks.results(ids).catch(() => new Map<string, TaskResult>())
    this.#looking = false
    for (const [id, ending] of endings) {
      for (const done of [...(this.#waiting.get(id) ?? [])]) done(ending)
    }
    if (this.#waiting.size > 0) this.#poll()
    this.#look([])
  }

  #poll(): void {
    this.#cancelPoll ??= this.#clock.after(this.#pollMs, () => {
      this.#cancelPoll = undefined
      this.#look(this.#someWaiting())
    })
  }
}
