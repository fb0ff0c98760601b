import { checkName, shown } from '../define/names.ts'
import { GleanerError, InputError, TaskGone } from '../errors.ts'
import { type Explanation, explain } from '../model/explanation.ts'
import type { FlowTree } from '../model/flow.ts'
import type { QueueRecord } from '../model/queue.ts'
import type { StepRecord } from '../model/step.ts'
import type { AttemptRecord, Counts, LogLine, Page, TaskRecord } from '../model/task.ts'
import type { Meter } from '../observe/meter.ts'
import { isProvedDead } from '../process-identity.ts'
import type { AdminStore } from '../store/ports/admin.ts'
import type { Store } from '../store/ports/store.ts'
import type { BulkChange, LaneFilter } from '../store/ports/tasks.ts'
import { type BulkAnswer, type BulkOptions, changeAll } from './bulk.ts'
import { pauseQueue } from './pausing.ts'
import { stepRecordsOf } from './steps.ts'
import { checkQuery, type TaskQuery } from './task-query.ts'

const PAGE_DEFAULT = 50
const PAGE_MAX = 1_000
/** Tasks that a tree shows. */
const TREE_MAX = 200

/** Which page of a listing. */
export interface PageOptions {
  /** 1 to 1000, default 50. */
  limit?: number
  /** The `next` of the previous page. */
  cursor?: string | null
}

/** Read tasks, and retry, cancel or remove them. */
export interface TaskManagement {
  /** One task with its whole input and result. Null if it does not exist. */
  get(id: string): Promise<TaskRecord | null>
  /**
   * Without a status: newest first. `queued`: next first; `scheduled`: due first; finished: last finished first. A page looks
   * at a bounded number of tasks and has at most 1 MiB of JSON: it may be short, or empty, and still have a `next` that continues. For an input or
   * result of more than 4 096 bytes of JSON there stands `{ $shortened: { bytes } }`; `get` has it all.
   */
  list(query?: TaskQuery & PageOptions): Promise<Page<TaskRecord>>
  /** How many tasks are in each status. */
  counts(filter?: LaneFilter): Promise<Counts>
  /** The log lines, the oldest first. With `follow` there is always a `next`: pass it later to get newer lines. */
  logs(id: string, page?: PageOptions & { follow?: boolean }): Promise<Page<LogLine>>
  /** Each attempt at a task, the first one first. */
  attempts(id: string): Promise<AttemptRecord[]>
  /** What `ctx.step` and `ctx.sleep` kept of a task, in the order in which it was kept first. */
  steps(id: string): Promise<StepRecord[]>
  /** The task, and all tasks that it waits for or waited for, with theirs: 200 at most, the nearest first. Rejects with TaskGone. */
  tree(id: string): Promise<FlowTree>
  /** Runs a finished task again, with all its attempts. */
  retry(id: string): Promise<void>
  /** Cancels a waiting task at once, and aborts the signal of a running one. False: the task had finished. */
  cancel(id: string): Promise<boolean>
  /** Removes a task that is not running, with its log. */
  remove(id: string): Promise<void>
  /** Says why a task does not run: each condition in order, pass or fail, with what to do. */
  explain(id: string): Promise<Explanation>
  /** Retries all tasks that match the query. Without a status: failed tasks. */
  retryAll(query: TaskQuery, options?: BulkOptions): Promise<BulkAnswer>
  /** Cancels all unfinished tasks that match the query. */
  cancelAll(query: TaskQuery, options?: BulkOptions): Promise<BulkAnswer>
  /** Removes all finished tasks that match the query. */
  removeAll(query: TaskQuery, options?: BulkOptions): Promise<BulkAnswer>
}

/** List, pause and resume queues, and see their limits. */
export interface QueueManagement {
  /** Every queue with its order and its counts. */
  list(): Promise<QueueRecord[]>
  /** Pauses the queue: nothing is claimed from it, and running tasks continue. Resolves when no further task can start. */
  pause(queue: string): Promise<void>
  /** Ends a pause of this queue. */
  resume(queue: string): Promise<void>
}

export function taskManagement(
  store: Pick<Store, 'tasks' | 'steps' | 'flows' | 'remote'>,
  meter: Meter,
): TaskManagement {
  const changeMany = async (change: BulkChange, query: TaskQuery, options?: BulkOptions) => {
    const answer = await changeAll(store.tasks, change, query, options)
    if (answer.changed > 0 && !answer.dryRun) meter.stirred()
    return answer
  }
  return {
    get: (id) => store.tasks.getTask(String(id)),
    async list({ limit, cursor, ...query } = {}) {
      return store.tasks.listTasks(checkQuery(query), pageRequest({ limit, cursor }))
    },
    counts: async (filter = {}) => store.tasks.countTasks(checkQuery(filter, ['queue', 'name', 'requires'])),
    logs: async (id, { follow = false, ...page } = {}) =>
      store.tasks.taskLogs(String(id), { ...pageRequest(page), follow: checkFollow(follow) }),
    attempts: (id) => store.tasks.taskAttempts(String(id)),
    steps: (id) => stepRecordsOf(store.steps, String(id)),
    async tree(id) {
      const tree = await store.flows.tree(String(id), TREE_MAX)
      if (tree === null) throw new TaskGone(id)
      return tree
    },
    async retry(id) {
      const answer = await store.tasks.retryTask(String(id))
      if (answer === 'gone') throw new TaskGone(id)
      if (answer === 'not-finished') throw unfinished(id)
      if (answer !== 'retried') throw keyHeld(id, answer.keyHeldBy)
      meter.stirred()
    },
    async cancel(id) {
      const answer = await store.tasks.cancelTask(String(id))
      if (answer === 'gone') throw new TaskGone(id)
      if (answer === 'cancelled') meter.stirred()
      return answer !== 'finished'
    },
    async remove(id) {
      const answer = await store.tasks.removeTask(String(id))
      if (answer === 'gone') throw new TaskGone(id)
      if (answer === 'running') throw stillHeld(id)
      meter.stirred()
    },
    explain: (id) => explainTask(store, String(id)),
    retryAll: (query, options) => changeMany('retry', query, options),
    cancelAll: (query, options) => changeMany('cancel', query, options),
    removeAll: (query, options) => changeMany('remove', query, options),
  }
}

async function explainTask(store: Pick<Store, 'tasks' | 'remote'>, id: string): Promise<Explanation> {
  const at = await store.tasks.circumstancesOf(id)
  if (at === null) throw new TaskGone(id)
  // A process that is dead for certain serves nobody, though no sweeper has ended its session yet.
  const limits = await store.tasks.limitsOn(at.task.id)
  return explain({
    ...at,
    limits,
    workers: at.workers.filter(({ process }) => !isProvedDead(process, store)),
  })
}

export function queueManagement(store: AdminStore): QueueManagement {
  return {
    list: () => store.listQueues(),
    pause: async (queue) => pauseQueue(store, checkName(queue, 'queue', 'BAD_QUEUE')),
    resume: async (queue) => store.setPaused(checkName(queue, 'queue', 'BAD_QUEUE'), false),
  }
}

export function pageRequest({ limit = PAGE_DEFAULT, cursor = null }: PageOptions): {
  limit: number
  cursor: string | null
} {
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    throw new InputError(`limit: ${shown(limit)} is not valid`, {
      code: 'BAD_OPTION',
      hint: `Use a whole number from 1 to ${PAGE_MAX}.`,
    })
  }
  return { limit, cursor }
}

function checkFollow(follow: unknown): boolean {
  if (typeof follow === 'boolean') return follow
  throw new InputError(`follow: ${shown(follow)} is not valid`, {
    code: 'BAD_OPTION',
    hint: 'Use true or false.',
  })
}

function unfinished(id: string): GleanerError {
  return new GleanerError(`task ${id} is not finished`, {
    code: 'TASK_STATE',
    hint: 'Only completed, failed and cancelled tasks can be retried; cancel it first.',
  })
}

function keyHeld(id: string, holder: string): GleanerError {
  return new GleanerError(`the key of task ${id} is held by task ${holder}`, {
    code: 'KEY_HELD',
    hint: `Wait until task ${holder} has finished, or cancel it.`,
  })
}

function stillHeld(id: string): GleanerError {
  return new GleanerError(`task ${id} is running`, {
    code: 'TASK_STATE',
    hint: 'Cancel it first, and remove it when it has ended.',
  })
}
