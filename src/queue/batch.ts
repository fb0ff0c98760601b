import type { Clock } from '../clock.ts'
import type { BatchEntry } from '../define/batch-entry.ts'
import { checkConcurrency, checkTasks } from '../define/flow.ts'
import { shown } from '../define/names.ts'
import type { Stored, Task } from '../define/types.ts'
import { type Duration, durationMs } from '../duration.ts'
import { BatchGone, ChildFailed, InputError, WaitTimeout } from '../errors.ts'
import { readExactly } from '../exact-json.ts'
import {
  type FlowRecord,
  type MemberOutcome,
  type MemberStatus,
  unfinishedIn,
  unsuccessfulOf,
} from '../model/flow.ts'
import type { Failure, Page } from '../model/task.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import type { Change } from '../store/ports/change.ts'
import type { NewTask } from '../store/ports/new-task.ts'
import type { Store } from '../store/ports/store.ts'
import type { Enqueuer } from './enqueue.ts'
import { type PageOptions, pageRequest } from './manage.ts'

/** How far a batch is. */
export interface BatchProgress {
  /** How many tasks it has. */
  total: number
  /** How many of them completed. */
  completed: number
  /** How many failed. */
  failed: number
  /** How many were cancelled. */
  cancelled: number
  /** How many were removed before they ended. */
  removed: number
  /** How many have not ended. */
  unfinished: number
}

/** The input of the tasks `then` and `catch` of a batch. */
export interface BatchSummary extends Omit<BatchProgress, 'unfinished'> {
  /** The id of the batch. */
  batch: string
  /** Its name. */
  name: string
}

/** What `gleaner.batch` takes beside the tasks. */
export interface StartBatchOptions<R> {
  /** Runs when all tasks of the batch are completed. Its input is a `BatchSummary`. */
  then?: Task<any, R>
  /** Runs when the first task of the batch fails, is cancelled or removed. Its input is a `BatchSummary`. */
  catch?: Task
  /** How many tasks of the batch are queued or run at the same time. Default: all of them. */
  concurrency?: number
}

/** A reference to a batch. It works in every process. */
export interface BatchHandle<R> {
  /** The id of the batch. */
  readonly id: string
  /** How far it is. */
  progress(): Promise<BatchProgress>
  /**
   * Waits for the end of the batch: resolves with the result of `then`, or with the progress if there is none. Rejects with ChildFailed when a
   * task of it does not complete, and with BatchGone or WaitTimeout.
   */
  result(options?: { timeout?: Duration }): Promise<R>
  /** Cancels its unfinished tasks, running ones too. */
  cancel(): Promise<void>
}

/** A batch as every reader sees it. */
export interface BatchRecord extends BatchProgress {
  /** Identifies the batch in its database. */
  id: string
  /** Its name. */
  name: string
  /** How many of its tasks are queued or run at the same time. Null: all of them. */
  concurrency: number | null
  /** When it was started. */
  createdAt: number
  /** When its last task ended. Null before. */
  finishedAt: number | null
  /** The task that runs when all are completed. Null: not yet enqueued, or there is none. */
  thenTask: string | null
  /** The task that runs when one did not complete. Null: not enqueued, or there is none. */
  catchTask: string | null
}

/** See and cancel batches. */
export interface BatchManagement {
  /** One batch. Null if it does not exist. */
  get(id: string): Promise<BatchRecord | null>
  /** All batches that have tasks, the newest first. */
  list(page?: PageOptions): Promise<Page<BatchRecord>>
  /** How the tasks of a batch ended, in the order in which they were enqueued. The status of an unfinished one is null. */
  outcomes(id: string, page?: PageOptions): Promise<Page<BatchTask>>
  /** Cancels the unfinished tasks of a batch. */
  cancel(id: string): Promise<void>
  /** The handle of a batch. Pass `then`, so that `result()` waits for its result. */
  handle<R = BatchProgress>(id: string, then?: Task<any, R>): BatchHandle<Stored<R>>
}

/** A task of a batch. */
export interface BatchTask {
  /** The id of the task. */
  id: string
  /** How it ended. Null: it has not. */
  status: MemberStatus | null
  /** Its result. */
  result: unknown
  /** Its error. */
  error: Failure | null
}

const OPTIONS = declareOptions<StartBatchOptions<unknown>>('gleaner.batch', {
  // biome-ignore lint/suspicious/noThenProperty: a batch has such an option
  then: true,
  catch: true,
  concurrency: true,
})

interface BatchServices {
  store: Pick<Store, 'flows' | 'tasks' | 'onChange'>
  clock: Clock
  pollMs: number
  enqueuer: Enqueuer
  /** The value of a task's result, when it has ended. */
  resultOf(task: Task, id: string, timeoutMs: number | undefined): Promise<unknown>
}

/** Batches of one engine. */
export class Batches {
  readonly #services: BatchServices

  constructor(services: BatchServices) {
    this.#services = services
  }

  async start<R>(
    name: string,
    entries: readonly BatchEntry[],
    options: StartBatchOptions<R> = {},
  ): Promise<BatchHandle<any>> {
    if (typeof name !== 'string' || name === '')
      throw bad(`batch: ${shown(name)} is not a name`, 'Use a text.')
    const what = `batch ${shown(name)}`
    refuseUnknown(options, OPTIONS, what)
    checkTasks(entries, what)
    if (entries.length === 0) throw bad(`${what} has no tasks`, 'Pass [[task, input], …].')
    const { enqueuer, store } = this.#services
    const concurrency = checkConcurrency(options.concurrency, what)
    const summary = { name, batch: '1', total: entries.length, failed: 0, cancelled: 0, removed: 0 }
    const follower = async (task: Task | undefined, completed: number): Promise<NewTask | null> =>
      task === undefined ? null : enqueuer.checked(task, { ...summary, completed })
    const onCompleted = await follower(options.then, entries.length)
    const onFailed = await follower(options.catch, 0)
    const tasks = await enqueuer.checkEntries(entries)
    const id = await store.flows.startBatch({ name, tasks, concurrency, onCompleted, onFailed })
    enqueuer.countEach(tasks)
    return this.handle(id, options.then)
  }

  handle(id: string, then?: Task): BatchHandle<any> {
    return new StoredBatch(id, then, this.#services)
  }

  get management(): BatchManagement {
    const { flows } = this.#services.store
    return {
      async get(id) {
        const flow = await flows.flow(String(id))
        return flow?.kind === 'batch' ? batchRecord(flow) : null
      },
      async list(page = {}) {
        const { items, next } = await flows.listBatches(pageRequest(page))
        return { items: items.map(batchRecord), next }
      },
      async outcomes(id, page = {}) {
        const { items, next } = await flows.outcomes(String(id), pageRequest(page))
        return { items: items.map(batchTask), next }
      },
      cancel: (id) => this.handle(String(id)).cancel(),
      handle: (id, then) => this.handle(String(id), then),
    }
  }
}

function batchRecord(flow: FlowRecord): BatchRecord {
  const { id, name, concurrency, createdAt, resolvedAt, thenTask, catchTask } = flow
  return {
    id,
    name,
    ...progressOf(flow),
    concurrency,
    createdAt,
    finishedAt: resolvedAt,
    thenTask,
    catchTask,
  }
}

function batchTask({ id, status, result, error }: MemberOutcome): BatchTask {
  return { id, status, result: result === null ? null : readExactly(result), error }
}

class StoredBatch implements BatchHandle<any> {
  readonly id: string
  readonly #then: Task | undefined
  readonly #services: BatchServices

  constructor(id: string, then: Task | undefined, services: BatchServices) {
    this.id = id
    this.#then = then
    this.#services = services
  }

  async progress(): Promise<BatchProgress> {
    return progressOf(await this.#flow())
  }

  async cancel(): Promise<void> {
    if (!(await this.#services.store.flows.cancelFlow(this.id))) throw new BatchGone(this.id)
  }

  async result({ timeout }: { timeout?: Duration } = {}): Promise<unknown> {
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, 'timeout')
    const { clock } = this.#services
    const untilMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() + timeoutMs
    const flow = await this.#over(timeoutMs, untilMs)
    if (unsuccessfulOf(flow) > 0) throw await this.#failure()
    if (this.#then === undefined || flow.thenTask === null) return progressOf(flow)
    const left = timeoutMs === undefined ? undefined : Math.max(0, untilMs - clock.monotonicMs())
    return this.#services.resultOf(this.#then, flow.thenTask, left)
  }

  /** When a task did not complete, or all have and the one that follows is enqueued. */
  async #over(timeoutMs: number | undefined, untilMs: number): Promise<FlowRecord> {
    const { store, clock, pollMs } = this.#services
    let heard = () => {}
    const stop = store.onChange((change: Change) => {
      if (change.kind !== 'cancel' && change.kind !== 'schedules') heard()
    })
    try {
      for (;;) {
        const news = new Promise<void>((resolve) => {
          heard = resolve
        })
        const flow = await this.#flow()
        if (isOver(flow, this.#then !== undefined)) return flow
        const leftMs = untilMs - clock.monotonicMs()
        if (leftMs <= 0) throw new WaitTimeout(`batch ${this.id}`, timeoutMs ?? 0)
        await Promise.race([
          news,
          new Promise<void>((resolve) => clock.after(Math.min(pollMs, leftMs), resolve)),
        ])
      }
    } finally {
      stop()
    }
  }

  async #failure(): Promise<Error> {
    const { store } = this.#services
    const page = { limit: 1, cursor: null, unsuccessful: true } as const
    const [first] = (await store.flows.outcomes(this.id, page)).items
    const task = first === undefined ? null : await store.tasks.getTask(first.id)
    const status = first?.status === 'cancelled' || first?.status === 'removed' ? first.status : 'failed'
    return new ChildFailed({
      id: first?.id ?? '',
      name: task?.name ?? 'gone',
      status,
      error: first?.error ?? null,
    })
  }

  async #flow(): Promise<FlowRecord> {
    const flow = await this.#services.store.flows.flow(this.id)
    if (flow === null || flow.kind !== 'batch') throw new BatchGone(this.id)
    return flow
  }
}

function isOver(flow: FlowRecord, hasThen: boolean): boolean {
  if (unsuccessfulOf(flow) > 0) return true
  return unfinishedIn(flow) === 0 && (!hasThen || flow.thenTask !== null)
}

export function progressOf(flow: FlowRecord): BatchProgress {
  const { total, completed, failed, cancelled, removed } = flow
  return { total, completed, failed, cancelled, removed, unfinished: unfinishedIn(flow) }
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
