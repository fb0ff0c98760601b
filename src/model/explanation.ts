import type { ProcessIdentity } from '../process-identity.ts'
import { type Capabilities, satisfies } from './capabilities.ts'
import type { Holdup } from './holdup.ts'
import type { LimitState } from './limit.ts'
import { duration, failed, passed, quoted, type Reason, SHOWN_MAX, time, times } from './reasons.ts'
import { isFinished, type TaskRecord } from './task.ts'

/** Why a task does not run: each condition in order, pass or fail. */
export interface Explanation {
  /** Nothing stands in its way: the next worker with a free hand takes it. */
  runnable: boolean
  /** Each condition, in the order in which a worker checks them. */
  reasons: Reason[]
}

/** All that decides whether a task can run now. */
export interface Circumstances {
  task: TaskRecord
  now: number
  /** A worker holds it, started or not. */
  held: boolean
  /** It is run alone, because its worker died while it was in its hands. */
  suspect: boolean
  cancelRequested: boolean
  everythingPaused: boolean
  queuePaused: boolean
  /** Another task that holds its key. */
  keyHolder: string | null
  /** Of its queue, and of its key. */
  limits: readonly LimitState[]
  workers: readonly Serving[]
}

/** A live worker, and what it serves. */
export interface Serving {
  worker: string
  process: ProcessIdentity
  queues: readonly string[]
  names: readonly string[]
  capabilities: Capabilities
  discoveries: readonly string[]
  /** What it waits for, and does not claim meanwhile. */
  holdups: readonly Holdup[]
  /** Why it claims nothing at all; null: it is not paused. */
  paused: string | null
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
      `it is ${status} since ${time(finishedAt)}${why}`,
      `To run it again: \`gleaner tasks retry ${id}\`, or tasks.retry('${id}') in code.`,
    ),
  ]
  if (error?.kind === 'crash') {
    reasons.push(
      failed(
        'not-quarantined',
        `it was put aside: its worker died ${times(crashes)} while running it`,
        `Fix what kills the worker, then run \`gleaner tasks retry ${id}\`, or tasks.retry('${id}') in code. It runs alone.`,
      ),
    )
  }
  if (task.key !== null) reasons.push(keyReason(task.key, keyHolder))
  return reasons
}

function keyReason(key: string, holder: string | null): Reason {
  if (holder === null) return passed('key-free', `nobody else holds its key ${quoted(key)}`)
  return failed(
    'key-free',
    `its key ${quoted(key)} is held by task ${holder}`,
    `It cannot be retried before task ${holder} has finished, or was cancelled or removed.`,
  )
}

/** One line for each condition. */
function waiting(at: Circumstances): Reason[] {
  const reasons = [
    passed('unfinished', 'it has not finished'),
    heldReason(at),
    dueReason(at),
    backoffReason(at),
    pausedReason(at),
    queueReason(at),
    ...at.limits.map(limitReason),
    ...followReasons(at),
    ...workerReasons(at),
  ]
  if (at.suspect) {
    reasons.push(
      passed(
        'runs-alone',
        'its worker died with it in its hands: it waits for a process that runs nothing else',
      ),
    )
  }
  return reasons
}

function limitReason({ scope, key, limit, held, room, opensInMs, holders }: LimitState): Reason {
  const of =
    'queue' in scope ? `queue ${scope.queue}` : `${scope.task}${key === null ? '' : ` for ${quoted(key)}`}`
  const used = limit.concurrency === null ? `${held} run` : `${held} of ${limit.concurrency} run`
  if (room > 0) return passed('within-limits', `the limit of ${of} has room: ${used}`)
  const by = holders.slice(0, SHOWN_MAX).map((id) => `task ${id}`)
  if (opensInMs !== null) {
    return failed(
      'within-limits',
      `the rate of ${of} is reached; the next may start in ${duration(opensInMs)}`,
      'Wait for it, or raise the rate.',
    )
  }
  return failed(
    'within-limits',
    `the limit of ${of} is reached: ${used}${by.length === 0 ? '' : `, held by ${by.join(', ')}`}`,
    'Wait until one of them ends, or raise the limit.',
  )
}

/** It was enqueued while the one before it ran, and takes its key over when that has ended. */
function followReasons({ task, keyHolder }: Circumstances): Reason[] {
  if (task.key === null || keyHolder === null) return []
  return [
    failed(
      'key-free',
      `its key ${quoted(task.key)} is held by task ${keyHolder}, after which it runs`,
      `Wait for task ${keyHolder}, or cancel it.`,
    ),
  ]
}

function heldReason({ task, held, cancelRequested }: Circumstances): Reason {
  if (!held) return passed('not-held', 'no worker holds it')
  const since =
    task.startedAt === null ? 'and is about to start it' : `and runs it since ${time(task.startedAt)}`
  const fix = cancelRequested
    ? 'It was asked to stop; a handler that heeds ctx.signal ends soon.'
    : `Wait for it, or stop it with tasks.cancel('${task.id}').`
  return failed('not-held', `${task.worker} holds it ${since}`, fix)
}

function dueReason({ task, now }: Circumstances): Reason {
  const { runAfter } = task
  if (task.status !== 'scheduled' || backsOff(task)) return passed('due', 'its time has come')
  return failed(
    'due',
    `it is to run at ${time(runAfter)}, in ${duration((runAfter ?? now) - now)}`,
    'Wait for it; a task that should run at once is enqueued without runAfter.',
  )
}

function backoffReason({ task, now }: Circumstances): Reason {
  const { runAfter, attempts, maxAttempts, error } = task
  if (task.status !== 'scheduled' || !backsOff(task))
    return passed('not-backing-off', 'it is not backing off')
  return failed(
    'not-backing-off',
    `${attempts === 0 ? 'an attempt was given back' : `attempt ${attempts} of ${maxAttempts} failed`} ` +
      `(${error?.message ?? 'unknown'}); it is tried again at ` +
      `${time(runAfter)}, in ${duration((runAfter ?? now) - now)}`,
    'Wait for it. How long is decided by `retry` of the task.',
  )
}

/** It failed, or its worker said that it is broken. */
function backsOff({ attempts, error }: TaskRecord): boolean {
  return attempts > 0 || error !== null
}

function pausedReason({ everythingPaused }: Circumstances): Reason {
  return everythingPaused
    ? failed('not-paused', 'everything is paused', 'gleaner.resume()')
    : passed('not-paused', 'Gleaner is not paused')
}

function queueReason({ task: { queue }, queuePaused }: Circumstances): Reason {
  return queuePaused
    ? failed('queue-not-paused', `queue ${queue} is paused`, `queues.resume('${queue}')`)
    : passed('queue-not-paused', `queue ${queue} is open`)
}

/** Each narrows the circle; behind the first that leaves nobody there is nothing to say. */
function workerReasons({ task, workers }: Circumstances): Reason[] {
  const { name, queue, requires } = task
  const serving = workers.filter((worker) => worker.queues.includes(queue))
  if (serving.length === 0) {
    const others = workers.length === 0 ? 'no worker is alive' : `others are: ${namesOf(workers)}`
    return [
      failed(
        'worker-serves-queue',
        `no live worker serves queue ${queue}; ${others}`,
        `Start one: gleaner.work({ queues: ['${queue}'] }).`,
      ),
    ]
  }
  const knowing = serving.filter((worker) => worker.names.includes(name))
  const reasons = [passed('worker-serves-queue', `served by ${namesOf(serving)}`)]
  if (knowing.length === 0) {
    const fix = `Give ${name}, with its run, to openGleaner({ tasks }) where the worker is started.`
    return [...reasons, failed('worker-knows-task', `none of them has code for ${name}`, fix)]
  }
  reasons.push(passed('worker-knows-task', `${namesOf(knowing)} can run ${name}`))
  const able = knowing.filter((worker) => satisfies(requires, worker.capabilities))
  if (able.length > 0) {
    const fits = requires === null ? 'it requires nothing' : `fits ${namesOf(able)}`
    return [...reasons, passed('worker-has-capabilities', fits), ...readinessReasons(name, able)]
  }
  const offered = knowing
    .slice(0, SHOWN_MAX)
    .map(({ worker, capabilities }) => `${worker} ${JSON.stringify(capabilities)}`)
  return [
    ...reasons,
    failed(
      'worker-has-capabilities',
      `it requires ${JSON.stringify(requires)}; there are: ${offered.join(', ')}`,
      'Start a worker with these capabilities: gleaner.work({ capabilities }).',
    ),
  ]
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
      `no worker that could run it claims work: ${said}`,
      'gleaner.workers.resume() resumes workers that an operator paused.',
    ),
  ]
}

/** Said only where somebody lacks something: most need no resource. */
function resourceReasons(name: string, able: readonly Serving[]): Reason[] {
  const waiting = able.flatMap(({ worker, holdups }) =>
    holdups.filter(({ holds }) => holds.includes(name)).map((holdup) => ({ worker, ...holdup })),
  )
  if (waiting.length === 0) return []
  const said = waiting
    .slice(0, SHOWN_MAX)
    .map(
      ({ worker, resource, reason, until }) =>
        `${worker} waits for ${resource} (${reason}) and looks again at ${time(until)}`,
    )
    .join('; ')
  const free = able.filter(({ worker }) => !waiting.some((one) => one.worker === worker))
  if (free.length > 0) return [passed('resources-available', `${said}; ${namesOf(free)} can run it`)]
  return [
    failed(
      'resources-available',
      `a resource it needs is backing off: ${said}`,
      'Wait for it, or make the resource available: its probe says what is missing.',
    ),
  ]
}

export function namesOf(workers: readonly Serving[]): string {
  const shown = workers.slice(0, SHOWN_MAX).map(({ worker }) => worker)
  const more = workers.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}
