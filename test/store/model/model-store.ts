import type { Outcome } from '../../../src/model/outcome.ts'
import type { Ordering } from '../../../src/model/queue.ts'
import type { EndCause } from '../../../src/model/session.ts'
import type { TaskStatus } from '../../../src/model/task.ts'
import type { CancelAnswer, RemoveAnswer, RetryAnswer } from '../../../src/store/ports/tasks.ts'

export interface ModelTask {
  id: string
  name: string
  queue: string
  priority: number
  key: string | null
  forever: boolean
  maxAttempts: number
  createdAt: number
  /** The last time it was told to wait for. */
  runAfter: number
  /** When it became, or becomes, due: what its place depends on. */
  dueAt: number
  /** How often the order of its queue had changed when it got its place. */
  generation: number
  state: 'waiting' | 'held' | 'completed' | 'failed' | 'cancelled'
  attempts: number
  crashes: number
  suspect: boolean
  errorKind: string | null
  holder: Holder | null
  cancelRequested: boolean
  history: string[]
}

interface Holder {
  life: Life
  fence: number
  started: boolean
}

/** One life of a worker. */
export interface Life {
  worker: string
  ended: EndCause | null
  blamed: string | null
  useful: boolean
  /** The queue its worker was last given something from, in this life or one before. */
  lastServed: string | null
}

export type Spec = Pick<ModelTask, 'name' | 'queue' | 'priority' | 'key' | 'forever' | 'maxAttempts'> & {
  delayMs: number
}

export interface Able {
  names: readonly string[]
  queues: readonly string[]
}

const BY_TIME = ['fifo', 'lifo']

const CRASH_LIMIT = 3
const BROKEN_AFTER = 5
const UNFINISHED = ['waiting', 'held']

/** What a store is, as simply as it can be said: a list of tasks that is searched from the beginning each time. */
export class ModelStore {
  tasks: ModelTask[] = []
  readonly lives: Life[] = []
  readonly paused = new Set<string>()
  readonly #orderings = new Map<string, Ordering & { generation: number }>()
  everythingPaused = false

  // Reading

  statusOf(task: ModelTask, now: number): TaskStatus {
    if (task.state === 'held') return task.holder?.started ? 'running' : 'queued'
    if (task.state === 'waiting') return task.dueAt > now ? 'scheduled' : 'queued'
    return task.state
  }

  inStatus(status: TaskStatus, now: number): ModelTask[] {
    return this.tasks.filter((task) => this.statusOf(task, now) === status)
  }

  /** Of one queue. */
  inOrder(tasks: readonly ModelTask[]): ModelTask[] {
    const [one] = tasks
    if (one === undefined) return []
    const { strategy, ageingMs } = this.#orderingOf(one.queue)
    const inTime = (a: ModelTask, b: ModelTask) => a.dueAt - b.dueAt || Number(a.id) - Number(b.id)
    if (strategy === 'fifo') return tasks.toSorted(inTime)
    if (strategy === 'lifo') return tasks.toSorted((a, b) => inTime(b, a))
    const lead = (a: ModelTask, b: ModelTask) => a.priority - b.priority
    if (ageingMs === null) return tasks.toSorted((a, b) => lead(a, b) || inTime(a, b))
    const aged = (a: ModelTask, b: ModelTask) => lead(a, b) * ageingMs + (a.dueAt - b.dueAt)
    return tasks.toSorted((a, b) => aged(a, b) || inTime(a, b))
  }

  #orderingOf(queue: string): Ordering & { generation: number } {
    return this.#orderings.get(queue) ?? { strategy: 'priority', ageingMs: null, generation: 0 }
  }

  /** What a change of order leaves behind is put in its place by when it was enqueued, or became due. */
  order(queue: string, ordering: Ordering): void {
    const { strategy, ageingMs, generation } = this.#orderingOf(queue)
    const same = strategy === ordering.strategy && ageingMs === ordering.ageingMs
    const alike = same || (BY_TIME.includes(strategy) && BY_TIME.includes(ordering.strategy))
    this.#orderings.set(queue, { ...ordering, generation: alike ? generation : generation + 1 })
    for (const task of this.tasks) {
      if (task.queue !== queue || task.generation === this.#orderingOf(queue).generation) continue
      task.dueAt = Math.max(task.createdAt, task.runAfter)
      task.generation = this.#orderingOf(queue).generation
    }
  }

  holderOfKey({ name, key }: Pick<ModelTask, 'name' | 'key'>): ModelTask | undefined {
    const same = this.tasks.filter((task) => key !== null && task.name === name && task.key === key)
    return same.find((task) => UNFINISHED.includes(task.state)) ?? same.find((task) => task.forever)
  }

  heldBy(life: Life): ModelTask[] {
    return this.tasks.filter((task) => task.holder?.life === life)
  }

  // Producing and working

  enqueue({ delayMs, ...spec }: Spec, id: string, now: number): void {
    this.tasks.push({
      ...spec,
      id,
      createdAt: now,
      runAfter: now + delayMs,
      dueAt: now + delayMs,
      generation: this.#orderingOf(spec.queue).generation,
      state: 'waiting',
      attempts: 0,
      crashes: 0,
      suspect: false,
      errorKind: null,
      holder: null,
      cancelRequested: false,
      history: [],
    })
  }

  /** Who is next for a worker: suspects first, alone, for one that is empty; else one of each of its queues in turn. */
  next({ names, queues }: Able, life: Life, count: number, empty: boolean, now: number): ModelTask[] {
    if (this.everythingPaused) return []
    const begin = queues.indexOf(life.lastServed ?? '') + 1
    const lines = [...queues.slice(begin), ...queues.slice(0, begin)].map((queue) =>
      this.inOrder(
        this.tasks.filter(
          (task) =>
            task.state === 'waiting' &&
            task.dueAt <= now &&
            names.includes(task.name) &&
            task.queue === queue &&
            !this.paused.has(queue),
        ),
      ),
    )
    const suspect = lines.map((line) => line.find((task) => task.suspect)).find((task) => task !== undefined)
    if (empty && suspect !== undefined) return [suspect]
    const ready = lines.map((line) => line.filter((task) => !task.suspect))
    return ready
      .flatMap((line, turn) => line.map((task, nth) => ({ task, nth, turn })))
      .sort((a, b) => a.nth - b.nth || a.turn - b.turn)
      .slice(0, count)
      .map(({ task }) => task)
  }

  hold(task: ModelTask, life: Life, fence: number, started: boolean): void {
    task.state = 'held'
    task.holder = { life, fence, started }
    life.lastServed = task.queue
    task.attempts += 1
  }

  settle(task: ModelTask, outcome: Outcome, now: number): void {
    const { life, started } = task.holder!
    if (outcome.kind === 'completed') {
      life.useful = true
      return this.#finish(task, 'completed', 'completed', null)
    }
    if (outcome.kind === 'cancelled' || task.cancelRequested) {
      life.useful = true
      const ran = started || outcome.kind !== 'returned'
      if (!ran) task.attempts -= 1
      return this.#finish(task, 'cancelled', ran ? 'cancelled' : null, null)
    }
    if (outcome.kind === 'returned') return this.#giveBack(task, started ? 'returned' : null)
    if (outcome.kind === 'later') {
      this.#giveBack(task, 'later')
      return this.#delay(task, outcome.afterMs, now)
    }
    if (outcome.kind === 'waits') throw new Error('the model has no waits')
    const { kind } = outcome.failure
    if (outcome.retryAfterMs === null || task.attempts >= task.maxAttempts) {
      life.useful = true
      return this.#finish(task, 'failed', kind, kind)
    }
    task.suspect = false
    task.errorKind = kind
    this.#wait(task, kind)
    this.#delay(task, outcome.retryAfterMs, now)
  }

  // The end of a session

  end(life: Life, cause: EndCause): { returned: number; blamed: string | null; workerBroken: boolean } {
    const held = this.heldBy(life)
    const only = held.length === 1 && held[0]!.holder!.started ? held[0]! : null
    const row = cause === 'crash' && only !== null ? [only.id, ...this.#blamedBefore(life)] : []
    const workerBroken = row.length >= BROKEN_AFTER && new Set(row).size === BROKEN_AFTER
    const blamed = only !== null && cause === 'crash' && !workerBroken ? only.id : null
    life.ended = cause
    life.blamed = blamed
    for (const task of held) {
      if (task.cancelRequested) {
        if (!task.holder!.started) task.attempts -= 1
        this.#finish(task, 'cancelled', task.holder!.started ? 'cancelled' : null, null)
      } else if (cause === 'stop') this.#giveBack(task, task.holder!.started ? 'returned' : null)
      else if (cause === 'lease') this.#loseLease(task)
      else if (task.id === blamed) this.#charge(task)
      else this.#suspect(task, held.length > 1 || workerBroken)
    }
    if (workerBroken) for (const id of row.slice(1)) this.#forgive(id)
    return { returned: held.filter((task) => task.state === 'waiting').length, blamed, workerBroken }
  }

  /** What the worker's lives before this one crashed on, as long as they did nothing but crash. */
  #blamedBefore(life: Life): string[] {
    if (life.useful) return []
    const before = this.lives.filter(({ worker }) => worker === life.worker)
    const blamed: string[] = []
    for (const { ended, blamed: item, useful } of before.slice(0, before.indexOf(life)).reverse()) {
      if (ended !== 'crash' || item === null || useful || blamed.length === BROKEN_AFTER - 1) break
      blamed.push(item)
    }
    return blamed
  }

  #loseLease(task: ModelTask): void {
    if (!task.holder!.started) return this.#giveBack(task, null)
    if (task.attempts >= task.maxAttempts) return this.#finish(task, 'failed', 'lease', 'error')
    task.errorKind = 'error'
    this.#wait(task, 'lease')
  }

  #charge(task: ModelTask): void {
    task.crashes += 1
    if (task.crashes >= CRASH_LIMIT || task.attempts >= task.maxAttempts) {
      return this.#finish(task, 'failed', 'crash', 'crash')
    }
    task.suspect = true
    task.errorKind = 'crash'
    this.#wait(task, 'crash')
  }

  #suspect(task: ModelTask, suspected: boolean): void {
    if (suspected) task.suspect = true
    this.#giveBack(task, task.holder!.started ? 'crash' : null)
  }

  #forgive(id: string): void {
    const task = this.tasks.find((one) => one.id === id)
    if (task === undefined || !UNFINISHED.includes(task.state) || task.crashes === 0) return
    task.crashes -= 1
    task.attempts = Math.max(0, task.attempts - 1)
  }

  // Managing

  cancel(task: ModelTask): CancelAnswer {
    if (!UNFINISHED.includes(task.state)) return 'finished'
    if (task.state === 'held') {
      task.cancelRequested = true
      return 'requested'
    }
    task.state = 'cancelled'
    return 'cancelled'
  }

  retry(task: ModelTask, now: number): RetryAnswer {
    if (UNFINISHED.includes(task.state)) return 'not-finished'
    const holder = this.holderOfKey(task)
    if (holder !== undefined && holder !== task) return { keyHeldBy: holder.id }
    task.suspect = task.crashes > 0
    Object.assign(task, {
      state: 'waiting',
      dueAt: now,
      runAfter: 0,
      attempts: 0,
      crashes: 0,
      errorKind: null,
    })
    return 'retried'
  }

  remove(task: ModelTask): RemoveAnswer {
    if (task.state === 'held') return 'running'
    this.tasks = this.tasks.filter((one) => one !== task)
    return 'removed'
  }

  // How a task leaves its holder

  #wait(task: ModelTask, history: string | null): void {
    task.state = 'waiting'
    task.holder = null
    if (history !== null) task.history.push(history)
  }

  #giveBack(task: ModelTask, history: string | null): void {
    task.attempts -= 1
    this.#wait(task, history)
  }

  /** It gets another place, whether or not it has to wait for it. */
  #delay(task: ModelTask, afterMs: number, now: number): void {
    task.dueAt = now + afterMs
    if (afterMs > 0) task.runAfter = task.dueAt
  }

  #finish(
    task: ModelTask,
    state: 'completed' | 'failed' | 'cancelled',
    history: string | null,
    errorKind: string | null,
  ): void {
    this.#wait(task, history)
    Object.assign(task, { state, errorKind, cancelRequested: false })
  }
}
