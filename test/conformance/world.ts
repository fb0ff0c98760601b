import { type Counts, TASK_STATUSES, type TaskRecord } from '../../src/model/task.ts'
import type { NewTask } from '../../src/store/ports/new-task.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { TaskFilter } from '../../src/store/ports/tasks.ts'
import { Claimant, type ClaimantOptions } from './claimant.ts'
import type { MovableClock, TestDatabase } from './database.ts'

const PAGES_MAX = 1_000

/** One test's database, with a store on it. */
export class World {
  readonly database: TestDatabase
  readonly store: Store

  constructor(database: TestDatabase, store: Store) {
    this.database = database
    this.store = store
  }

  get clock(): MovableClock {
    return this.database.clock
  }

  /** A worker's session: on this store, or on one of its own. */
  worker(options: ClaimantOptions = {}, store: Store = this.store): Promise<Claimant> {
    return new Claimant(store, this.clock, options).begin()
  }

  /** The id of a new task. */
  async enqueue(task: Partial<NewTask> = {}, store: Store = this.store): Promise<string> {
    const [answer] = await store.tasks.enqueue([newTask(task)])
    if (!answer?.created) throw new Error(`not created: ${JSON.stringify(answer)}`)
    return answer.id
  }

  async enqueueMany(
    count: number,
    task: Partial<NewTask> = {},
    store: Store = this.store,
  ): Promise<string[]> {
    const tasks = Array.from({ length: count }, () => newTask(task))
    return (await store.tasks.enqueue(tasks)).map(({ id }) => id)
  }

  async task(id: string): Promise<TaskRecord> {
    const task = await this.store.tasks.getTask(id)
    if (task === null) throw new Error(`there is no task ${id}`)
    return task
  }

  /** All pages of a listing. */
  async list(filter: TaskFilter = {}, limit = 7): Promise<TaskRecord[]> {
    const items: TaskRecord[] = []
    let cursor: string | null = null
    for (let page = 0; page < PAGES_MAX; page++) {
      const answer = await this.store.tasks.listTasks(filter, { limit, cursor })
      items.push(...answer.items)
      cursor = answer.next
      if (cursor === null) return items
    }
    throw new Error(`the listing ${JSON.stringify(filter)} did not end after ${PAGES_MAX} pages`)
  }

  /** The counts, after making sure that every way to count says the same. */
  async counts(filter: { queue?: string; name?: string } = {}): Promise<Counts> {
    const counts = await this.store.tasks.countTasks(filter)
    const listed = countByStatus(await this.list(filter))
    const perStatus = { ...listed }
    for (const status of TASK_STATUSES) perStatus[status] = (await this.list({ ...filter, status })).length
    const answers = [counts, listed, perStatus].map((answer) => JSON.stringify(inOrder(answer)))
    if (new Set(answers).size > 1) {
      const [counted, inList, inLists] = answers
      throw new Error(`counts say ${counted}, the listing ${inList}, the listings per status ${inLists}`)
    }
    return counts
  }
}

export function newTask(task: Partial<NewTask> = {}): NewTask {
  return {
    name: 'job',
    queue: 'default',
    requires: null,
    priority: 100,
    input: null,
    key: null,
    keyScope: 'active',
    whenHeld: null,
    maxAttempts: 3,
    overrides: null,
    runAfter: null,
    ...task,
  }
}

/** Counts that are zero where nothing else is said. */
export function counts(some: Partial<Counts>): Counts {
  return { scheduled: 0, queued: 0, running: 0, suspended: 0, completed: 0, failed: 0, cancelled: 0, ...some }
}

function countByStatus(tasks: readonly TaskRecord[]): Counts {
  const sum = counts({})
  for (const { status } of tasks) sum[status] += 1
  return sum
}

function inOrder(answer: Counts): number[] {
  return TASK_STATUSES.map((status) => answer[status])
}

export function idsOf(items: readonly { id: string }[]): string[] {
  return items.map(({ id }) => id)
}
