import type { ProcessIdentity } from '../process-identity.ts'
import { type Capabilities, satisfies } from './capabilities.ts'
import type { LimitState } from './limit.ts'
import type { Strategy } from './queue.ts'
import {
  commandWord,
  duration,
  failed,
  passed,
  quotedText,
  type Reason,
  SHOWN_MAX,
  time,
  times,
} from './reasons.ts'
import { isFinished, type TaskRecord } from './task.ts'
import type { UnavailableResource } from './unavailable-resource.ts'
import type { WaitRecord } from './wait.ts'

/** Why a task does not run: each condition in order, pass or fail. */
export interface Explanation {
  /** Nothing prevents it from running: the next worker with a free slot claims it. */
  runnable: boolean
  /** Each condition, in the order in which a worker checks them. */
  reasons: Reason[]
}

/** Everything that decides whether a task can run now. */
export interface Circumstances {
  task: TaskRecord
  now: number
  /** A worker holds it, whether it was started or not. */
  held: boolean
  /** It runs alone, because its worker died while it was in flight. */
  suspect: boolean
  cancelRequested: boolean
  /** What it waits for while it is suspended. */
  waits: readonly WaitRecord[]
  /** The tasks that it waits for while it is suspended. */
  waitsFor: readonly AwaitedTasks[]
  everythingPaused: boolean
  queuePaused: boolean
  /** Another task that holds its key. */
  keyHolder: string | null
  /** Its place behind others of its order key. Null: it has no order key, or it leads. */
  inOrder: PlaceInOrder | null
  /** The limits of its queue and of its key. */
  limits: readonly LimitState[]
  workers: readonly Serving[]
}

/** A task that waits behind others of its order key. */
export interface PlaceInOrder {
  key: string
  /** The one that runs, or runs next. Null: no worker has noticed yet that the key is free. */
  leader: string | null
  /** How many wait between that one and this one. */
  before: number
}

/** A live worker, and what it serves. */
export interface Serving {
  worker: string
  process: ProcessIdentity
  queues: readonly string[]
  names: readonly string[]
  capabilities: Capabilities
  discoveries: readonly string[]
  /** Queues that it serves in another order than the stored one. */
  strategies: Readonly<Record<string, Strategy>>
  /** The resources that the worker waits for. It claims no items that need them. */
  unavailable: readonly UnavailableResource[]
  /** Why the worker claims nothing. Null: it is not paused. */
  paused: string | null
}

/** For people: how a task ended. */
const FINISHED: Partial<Record<TaskRecord['status'], string>> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'was cancelled',
}

export function explain(at: Circumstances): Explanation {
  const reasons = isFinished(at.task.status) ? ended(at) : waiting(at)
  return { runnable: reasons.every((reason) => reason.ok), reasons }
}

function ended({ task, keyHolder }: Circumstances): Reason[] {
  const { id, status, error, finishedAt, crashes } = task
  const why = status === 'failed' ? `: ${error?.message ?? 'unknown'}` : ''
  const reasons = [
    failed(
      'unfinished',
      `the task ${FINISHED[status]} at ${time(finishedAt)}${why}`,
      `To run it again: \`gleaner tasks retry ${id}\`, or tasks.retry('${id}') in code.`,
    ),
  ]
  if (error?.kind === 'crash') {
    reasons.push(
      failed(
        'not-quarantined',
        `the task is quarantined: its worker died ${times(crashes)} while it ran`,
        `Fix what kills the worker, then run \`gleaner tasks retry ${id}\`, or tasks.retry('${id}') in code. It runs alone.`,
      ),
    )
  }
  if (task.key !== null) reasons.push(keyReason(task.key, keyHolder))
  return reasons
}

function keyReason(key: string, holder: string | null): Reason {
  if (holder === null) return passed('key-free', `no other task holds its key ${quotedText(key)}`)
  return failed(
    'key-free',
    `task ${holder} holds its key ${quotedText(key)}`,
    `Wait until task ${holder} has finished, or cancel it. Then retry this task.`,
  )
}

/** One line for each condition. */
function waiting(at: Circumstances): Reason[] {
  const reasons = [
    passed('unfinished', 'the task has not finished'),
    heldReason(at),
    ...suspendedReasons(at),
    dueReason(at),
    backoffReason(at),
    pausedReason(at),
    queueReason(at),
    ...at.limits.map(limitReason),
    ...followReasons(at),
    ...orderKeyReasons(at),
    ...workerReasons(at),
  ]
  if (at.suspect) {
    reasons.push(
      passed(
        'runs-alone',
        'its worker died while the task was in flight: it waits for a process that runs nothing else',
      ),
    )
  }
  return reasons
}

function limitReason({ scope, key, limit, held, room, opensInMs, holders }: LimitState): Reason {
  const of =
    'queue' in scope
      ? `queue ${scope.queue}`
      : `${scope.task}${key === null ? '' : ` for ${quotedText(key)}`}`
  const used = limit.concurrency === null ? `${held} running` : `${held} of ${limit.concurrency} running`
  if (room > 0) return passed('within-limits', `the limit of ${of} is not reached: ${used}`)
  const by = holders.slice(0, SHOWN_MAX).map((id) => `task ${id}`)
  if (opensInMs !== null) {
    return failed(
      'within-limits',
      `the rate limit of ${of} is reached; the next task may start in ${duration(opensInMs)}`,
      'Wait, or raise the rate.',
    )
  }
  return failed(
    'within-limits',
    `the limit of ${of} is reached: ${used}${by.length === 0 ? '' : `, held by ${by.join(', ')}`}`,
    'Wait until one of these tasks ends, or raise the limit.',
  )
}

/** Tasks of one order key run one at a time, in the order of enqueue. */
function orderKeyReasons({ inOrder }: Circumstances): Reason[] {
  if (inOrder === null) return []
  const { key, leader, before } = inOrder
  if (leader === null)
    return [
      failed(
        'in-order',
        `its order key ${quotedText(key)} is free, and ${before === 0 ? 'this task is next' : `${others(before)} before this one`}`,
        'Wait: the next worker that claims sees it.',
      ),
    ]
  return [
    failed(
      'in-order',
      `it waits for task ${leader}${before === 0 ? '' : ` and ${others(before)} before it`}, of the same order key ${quotedText(key)}`,
      `Wait until task ${leader} has finished, or cancel it. A task that backs off, is scheduled or suspended keeps its key.`,
    ),
  ]
}

function others(count: number): string {
  return count === 1 ? '1 other task' : `${count} other tasks`
}

/** It was enqueued while the one before it ran, and takes its key over when that has ended. */
function followReasons({ task, keyHolder }: Circumstances): Reason[] {
  if (task.key === null || keyHolder === null) return []
  return [
    failed(
      'key-free',
      `task ${keyHolder} holds its key ${quotedText(task.key)}; this task runs after it`,
      `Wait for task ${keyHolder}, or cancel it.`,
    ),
  ]
}

function heldReason({ task, held, cancelRequested }: Circumstances): Reason {
  if (!held) return passed('not-held', 'no worker holds it')
  const since =
    task.startedAt === null ? 'and is about to start it' : `and has run it since ${time(task.startedAt)}`
  const fix = cancelRequested
    ? 'The task is being cancelled. A handler that heeds ctx.signal ends soon.'
    : `Wait until it ends, or stop it with \`gleaner.tasks.cancel('${task.id}')\`.`
  return failed('not-held', `${task.worker} holds it ${since}`, fix)
}

function suspendedReasons({ task, waits, waitsFor }: Circumstances): Reason[] {
  if (task.status !== 'suspended') return []
  const signals = waits.filter(({ kind }) => kind === 'signal')
  return [
    ...signals.map((wait) => waitReason(wait, `gleaner signal ${task.id} ${commandWord(wait.name)}`)),
    ...waitsFor.map(awaitedReason),
  ]
}

/** Unfinished tasks that a suspended one waits for. */
export interface AwaitedTasks {
  /** `turn`: others of its own flow, because so many are queued already. */
  kind: 'children' | 'tasks' | 'turn'
  /** Of the step. */
  name: string
  total: number
  unfinished: number
  /** The first ones of the unfinished. */
  tasks: readonly string[]
}

export function awaitedReason({ kind, name, total, unfinished, tasks }: AwaitedTasks): Reason {
  const more = unfinished > tasks.length ? ' and others' : ''
  const ids = `${tasks.length === 1 ? 'task' : 'tasks'} ${tasks.join(', ')}${more}`
  const what = {
    children: `it waits for ${unfinished} of ${total} children of ${quotedText(name)}: ${ids}`,
    tasks: `it runs after ${ids}`,
    turn: `its flow has ${unfinished} of ${total} unfinished tasks, and no more may be queued now`,
  }
  return failed(
    'not-suspended',
    what[kind],
    'Wait until they have ended. To see why one of them does not run, explain that one.',
  )
}

/** `command` sends what it waits for. */
export function waitReason({ kind, name, since, until }: WaitRecord, command: string): Reason {
  const end = until === null ? 'without a time-out' : `until ${time(until)}`
  const what = kind === 'signal' ? `the signal ${quotedText(name)}` : `the children of ${quotedText(name)}`
  return failed(
    'not-suspended',
    `suspended since ${time(since)}: it waits for ${what} ${end}`,
    kind === 'signal'
      ? `Send the signal: \`${command}\`, or \`gleaner.signal\` in code.`
      : 'Wait until the children have ended.',
  )
}

function dueReason({ task, now }: Circumstances): Reason {
  const { runAfter } = task
  if (task.status !== 'scheduled' || backsOff(task)) return passed('due', 'the task is due')
  return failed(
    'due',
    `the task is due at ${time(runAfter)}, in ${duration((runAfter ?? now) - now)}`,
    'Wait. To run a task at once, enqueue it without `runAfter`.',
  )
}

function backoffReason({ task, now }: Circumstances): Reason {
  const { runAfter, attempts, maxAttempts, error } = task
  if (task.status !== 'scheduled' || !backsOff(task))
    return passed('not-backing-off', 'the task is not backing off')
  return failed(
    'not-backing-off',
    `${attempts === 0 ? 'an attempt went back' : `attempt ${attempts} of ${maxAttempts} failed`} ` +
      `(${error?.message ?? 'unknown'}); the next attempt is at ` +
      `${time(runAfter)}, in ${duration((runAfter ?? now) - now)}`,
    'Wait. The option `retry` of the task sets the delay.',
  )
}

/** It failed, or its worker said that it is broken. */
function backsOff({ attempts, error }: TaskRecord): boolean {
  return attempts > 0 || error !== null
}

function pausedReason({ everythingPaused }: Circumstances): Reason {
  return everythingPaused
    ? failed('not-paused', 'everything is paused', 'To resume, call `gleaner.resume()`.')
    : passed('not-paused', 'Gleaner is not paused')
}

function queueReason({ task: { queue }, queuePaused }: Circumstances): Reason {
  return queuePaused
    ? failed(
        'queue-not-paused',
        `queue ${queue} is paused`,
        `To resume it, call \`gleaner.queues.resume('${queue}')\`.`,
      )
    : passed('queue-not-paused', `queue ${queue} is not paused`)
}

/** Each narrows the circle; behind the first that leaves nobody there is nothing to say. */
function workerReasons({ task, workers }: Circumstances): Reason[] {
  const { name, queue, requires } = task
  const serving = workers.filter((worker) => worker.queues.includes(queue))
  if (serving.length === 0) {
    const others = workers.length === 0 ? 'no worker is alive' : `other live workers: ${namesOf(workers)}`
    return [
      failed(
        'worker-serves-queue',
        `no live worker serves queue ${queue}; ${others}`,
        `Start one: add ${quotedText(queue)} to the \`queues\` of a pool in the config and restart \`gleaner start\`, or call \`gleaner.work({ queues: ['${queue}'] })\`.`,
      ),
    ]
  }
  const knowing = serving.filter((worker) => worker.names.includes(name))
  const reasons = [passed('worker-serves-queue', `live workers that serve it: ${namesOf(serving)}`)]
  if (knowing.length === 0) {
    const fix = `Add the task ${name}, with its \`run\`, to \`tasks\` of the config, or of \`openGleaner\` in the process of the worker. Then restart the worker.`
    return [...reasons, failed('worker-knows-task', `none of these workers has code for ${name}`, fix)]
  }
  reasons.push(passed('worker-knows-task', `${namesOf(knowing)} can run ${name}`))
  const able = knowing.filter((worker) => satisfies(requires, worker.capabilities))
  if (able.length > 0) {
    const fits =
      requires === null
        ? 'the task requires no capabilities'
        : `workers with its capabilities: ${namesOf(able)}`
    return [
      ...reasons,
      passed('worker-has-capabilities', fits),
      ...orderReasons(queue, able),
      ...readinessReasons(name, able),
    ]
  }
  const offered = knowing
    .slice(0, SHOWN_MAX)
    .map(({ worker, capabilities }) => `${worker} ${JSON.stringify(capabilities)}`)
  return [
    ...reasons,
    failed(
      'worker-has-capabilities',
      `the task requires ${JSON.stringify(requires)}; the workers have: ${offered.join(', ')}`,
      'Start a worker with these capabilities: set `capabilities` of a pool in the config, or pass them to `gleaner.work`.',
    ),
  ]
}

/** Only where a worker chose another order: it decides how soon the task is next. */
function orderReasons(queue: string, able: readonly Serving[]): Reason[] {
  const chosen = able.flatMap(({ worker, strategies }) =>
    strategies[queue] === undefined ? [] : [`${worker} (${strategies[queue]})`],
  )
  if (chosen.length === 0) return []
  const said = `workers that serve queue ${queue} in an order of their own: ${chosen.slice(0, SHOWN_MAX).join(', ')}`
  return [passed('order', said)]
}

/** Whether any of the workers that could run it claims work now. */
export function readinessReasons(name: string, able: readonly Serving[]): Reason[] {
  const claiming = able.filter(({ paused }) => paused === null)
  if (claiming.length === able.length) return resourceReasons(name, able)
  const said = able
    .flatMap(({ worker, paused }) => (paused === null ? [] : [`${worker} is paused (${paused})`]))
    .slice(0, SHOWN_MAX)
    .join('; ')
  if (claiming.length > 0)
    return [
      passed('worker-not-paused', `${said}; ${namesOf(claiming)} can run it`),
      ...resourceReasons(name, claiming),
    ]
  return [
    failed(
      'worker-not-paused',
      `all workers that could run it are paused: ${said}`,
      'If an operator paused them, call `gleaner.workers.resume()`.',
    ),
  ]
}

/** Said only where somebody lacks something: most need no resource. */
function resourceReasons(name: string, able: readonly Serving[]): Reason[] {
  const waiting = able.flatMap(({ worker, unavailable }) =>
    unavailable.filter(({ holds }) => holds.includes(name)).map((resource) => ({ worker, ...resource })),
  )
  if (waiting.length === 0) return []
  const said = waiting
    .slice(0, SHOWN_MAX)
    .map(
      ({ worker, resource, reason, until }) =>
        `${worker} waits for ${resource} (${reason}) and checks again at ${time(until)}`,
    )
    .join('; ')
  const free = able.filter(({ worker }) => !waiting.some((one) => one.worker === worker))
  if (free.length > 0) return [passed('resources-available', `${said}; ${namesOf(free)} can run it`)]
  return [
    failed(
      'resources-available',
      `a resource that the task needs is not available: ${said}`,
      'Wait, or make the resource available: its probe says what is missing.',
    ),
  ]
}

export function namesOf(workers: readonly Serving[]): string {
  const shown = workers.slice(0, SHOWN_MAX).map(({ worker }) => worker)
  const more = workers.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}
