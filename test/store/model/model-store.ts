import type { Outcome } from '../../../src/model/outcome.ts'
import type { EndCause } from '../../../src/model/session.ts'
import type { TaskStatus } from '../../../src/model/task.ts'
import type { CancelAnswer, RemoveAnswer, RetryAnswer } from '../../../src/store/contract.ts'

export interface ModelTask {
  id: string
  name: string
  queue: string
  priority: number
  key: string | null
  forever: boolean
  maxAttempts: number
  /** When it became, or becomes, due: its place among those of its priority. */
  dueAt: number
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
}

export type Spec = Pick<ModelTask, 'name' | 'queue' | 'priority' | 'key' | 'forever' | 'maxAttempts'> & {
  delayMs: number
}

export interface Able {
  names: readonly string[]
  queues: readonly string[]
}

const CRASH_LIMIT = 3
const BROKEN_AFTER = 5
const UNFINISHED = ['waiting', 'held']

/** What a store is, as simply as it can be said: a list of tasks that is searched from the beginning each time. */
export class ModelStore {
  tasks: ModelTask[] = []
  readonly lives: Life[] = []
  readonly paused = new Set<string>()
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

  inOrder(tasks: readonly ModelTask[]): ModelTask[] {
    return tasks.toSorted(
      (a, b) => a.priority - b.priority || a.dueAt - b.dueAt || Number(a.id) - Number(b.id),
    )
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
      dueAt: now + delayMs,
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

  /** Who is next for a worker: suspects first, alone, for one that is empty. */
  next({ names, queues }: Able, count: number, empty: boolean, now: number): ModelTask[] {
    if (this.everythingPaused) return []
    const ready = this.inOrder(
      this.tasks.filter(
        (task) =>
          task.state === 'waiting' &&
          task.dueAt <= now &&
          names.includes(task.name) &&
          queues.includes(task.queue) &&
          !this.paused.has(task.queue),
      ),
    )
    const suspect = ready.find((task) => task.suspect)
    if (empty && suspect !== undefined) return [suspect]
    return ready.filter((task) => !task.suspect).slice(0, count)
  }

  hold(task: ModelTask, life: Life, fence: number, started: boolean): void {
    task.state = 'held'
    task.holder = { life, fence, started }
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
      return this.#finish(task, 'cancelled', ran ? 'cancelled' : null, null)
    }
    if (outcome.kind === 'returned') return this.#giveBack(task, started ? 'returned' : null)
    if (outcome.kind === 'later') {
      this.#giveBack(task, 'later')
      return this.#delay(task, outcome.afterMs, now)
    }
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
    Object.assign(task, { state: 'waiting', dueAt: now, attempts: 0, crashes: 0, errorKind: null })
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

  /** Without a delay it keeps its place. */
  #delay(task: ModelTask, afterMs: number, now: number): void {
    if (afterMs > 0) task.dueAt = now + afterMs
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
