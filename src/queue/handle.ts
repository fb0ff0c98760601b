import { checkAgainst } from '../define/schema.ts'
import type { TaskDefinition } from '../define/task.ts'
import type { Handle, Stored } from '../define/types.ts'
import { type Duration, durationMs } from '../duration.ts'
import { GleanerError, TaskCancelled, TaskFailed, TaskGone, WaitTimeout } from '../errors.ts'
import type { Store } from '../store/ports/store.ts'
import type { Endings } from './endings.ts'

/** What a handle needs; shared by all of them, because there may be a hundred thousand. */
export interface HandleOffice {
  store: Pick<Store, 'tasks' | 'admin'>
  endings: Endings
}

export class TaskHandle<R> implements Handle<R> {
  readonly id: string
  readonly created: boolean
  readonly #definition: TaskDefinition
  readonly #office: HandleOffice

  constructor(id: string, created: boolean, definition: TaskDefinition, office: HandleOffice) {
    this.id = id
    this.created = created
    this.#definition = definition
    this.#office = office
  }

  async result(options: { timeout?: Duration } = {}): Promise<Stored<R>> {
    const timeoutMs = options.timeout === undefined ? undefined : durationMs(options.timeout, 'timeout')
    const ending = await this.#office.endings.wait(this.id, timeoutMs)
    if (ending === 'closed') throw new GleanerError('Gleaner was closed during the wait', { code: 'CLOSED' })
    if (ending === undefined) throw new WaitTimeout(this.id, timeoutMs ?? 0)
    switch (ending.status) {
      case 'completed':
        return (await this.#checked(ending.result)) as Stored<R>
      case 'failed':
        throw new TaskFailed(this.id, ending.error ?? { kind: 'error', message: 'unknown' })
      case 'cancelled':
        throw new TaskCancelled(this.id)
      case 'gone':
        throw new TaskGone(this.id)
    }
  }

  async cancel(): Promise<void> {
    const answer = await this.#office.store.tasks.cancelTask(this.id)
    if (answer === 'gone') throw new TaskGone(this.id)
  }

  /** `output` speaks for results of code that lives elsewhere: what does not fit is refused here. */
  #checked(result: unknown): unknown | Promise<unknown> {
    const { output, name } = this.#definition
    return output === undefined ? (result ?? undefined) : checkAgainst(output, result, `result of ${name}`)
  }
}
