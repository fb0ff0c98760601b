import { satisfies } from './capabilities.ts'
import type { Serving } from './explanation.ts'
import { isQueue, type Measured, MINUTE_MS, type Readings, ROWS } from './metrics.ts'
import type { Requires } from './task.ts'

/** What waits, and who is there to do it. */
export interface Demand {
  waiting: readonly { queue: string; name: string; requires: Requires | null; count: number }[]
  workers: readonly Serving[]
}

/** Null: never an alert. */
export interface AlertLimits {
  /** Waiting items in one queue or discovery. Null: no alert. */
  backlog: number | null
  /** The share of failed attempts. Null: no alert. */
  errorRate: number | null
  /** How long nothing completed while work waits. Null: no alert. */
  stalledAfterMs: number | null
}

/** What an alert can be about. */
export type AlertKind = 'unserved' | 'error-rate' | 'backlog' | 'stalled'

/** Something that a person should look at. */
export interface Alert {
  /** What is wrong. */
  kind: AlertKind
  /** The queue or the discovery. */
  queue: string | null
  /** The discovery that it is about. Null: a queue. */
  discovery: string | null
  /** What is wrong, in one sentence. */
  message: string
  /** What to do about it. */
  fix: string
}

export interface AlertSituation {
  readings: Readings
  demand: Demand
  pausedQueues: ReadonlySet<string>
  discoveries: readonly WaitingRows[]
}

export interface WaitingRows {
  name: string
  paused: boolean
  waiting: number
  claimed: number
  /** Every look since then has found rows that wait; null: none waits. */
  waitingSince: number | null
}

/** One failure of two attempts is no trend. */
const ATTEMPTS_MIN = 20

/** How far back the readings must go, for these limits. */
export function alertWindowMs({ stalledAfterMs }: AlertLimits): number {
  return Math.max(5 * MINUTE_MS, (stalledAfterMs ?? 0) + MINUTE_MS)
}

/** In the order of the queues, then of the discoveries. What is paused waits on purpose. */
export function alertsOf(situation: AlertSituation, limits: AlertLimits): Alert[] {
  const { readings, demand, pausedQueues, discoveries } = situation
  const names = [...readings.present, ...readings.minutes].map(({ queue }) => queue)
  const queues = [...new Set(names)].filter(isQueue).sort()
  return [
    ...queues.flatMap((queue) => {
      const isActive = !pausedQueues.has(queue)
      const measured = measuredIn(readings, queue)
      const backlog = backlogOf(queue, readings)
      const said = [
        ...(isActive
          ? [...unserved(queue, demand), ...stalled(backlog, measured, readings.now, limits)]
          : []),
        ...errorRate(queue, measured, limits),
        ...tooMuch(backlog, limits),
      ]
      return said.map((one) => ({ queue, discovery: null, ...one }))
    }),
    ...discoveries.flatMap((rows) => {
      const { name } = rows
      const measured = measuredIn(readings, ROWS).filter((one) => one.name === name)
      const backlog = { place: name, waiting: rows.waiting, running: rows.claimed, since: rows.waitingSince }
      const said = [
        ...(rows.waiting > 0 && !rows.paused ? unservedRows(name, demand) : []),
        ...(rows.paused ? [] : stalled(backlog, measured, readings.now, limits)),
        ...errorRate(name, measured, limits),
        ...tooMuch(backlog, limits),
      ]
      return said.map((one) => ({ queue: null, discovery: name, ...one }))
    }),
  ]
}

type Said = Omit<Alert, 'queue' | 'discovery'>

function measuredIn({ minutes }: Readings, queue: string): Readings['minutes'] {
  return minutes.filter((one) => one.queue === queue)
}

function unservedRows(name: string, { workers }: Demand): Said[] {
  if (workers.some(({ discoveries }) => discoveries.includes(name))) return []
  return [
    {
      kind: 'unserved',
      message: `rows of ${name} wait, and no live worker serves this discovery`,
      fix: `Start a worker for the discovery ${name}.`,
    },
  ]
}

function unserved(queue: string, { waiting, workers }: Demand): Said[] {
  const left = waiting.filter(
    (one) =>
      one.queue === queue &&
      !workers.some(
        ({ queues, names, capabilities }) =>
          queues.includes(queue) && names.includes(one.name) && satisfies(one.requires, capabilities),
      ),
  )
  if (left.length === 0) return []
  const count = total(left.map((one) => one.count))
  const names = [...new Set(left.map((one) => one.name))].sort()
  const needs = left.find(({ requires }) => requires !== null)?.requires
  const hasOthers = workers.some(({ queues }) => queues.includes(queue))
  return [
    {
      kind: 'unserved',
      message: `${count} waiting in ${queue} that no live worker serves: ${shortList(names)}`,
      fix: !hasOthers
        ? `Start a worker for the queue ${queue}.`
        : needs === undefined || needs === null
          ? 'Start a worker that has the code of these tasks.'
          : `Start a worker with these capabilities: ${JSON.stringify(needs)}.`,
    },
  ]
}

/** What waits in a queue, or in the table of a discovery. */
interface Backlog {
  place: string
  waiting: number
  running: number
  since: number | null
}

function backlogOf(queue: string, { present }: Readings): Backlog {
  const here = present.filter((one) => one.queue === queue)
  const since = here.map((one) => one.waitingSince).filter((at) => at !== null)
  return {
    place: queue,
    waiting: total(here.map((one) => one.queued)),
    running: total(here.map((one) => one.running)),
    since: since.length === 0 ? null : Math.min(...since),
  }
}

function stalled(
  { place, waiting, running, since: waitingSince }: Backlog,
  measured: Readings['minutes'],
  now: number,
  limits: AlertLimits,
): Said[] {
  const { stalledAfterMs } = limits
  if (stalledAfterMs === null || waitingSince === null || waitingSince > now - stalledAfterMs) return []
  // A minute that has begun before counts as a whole: better late than wrong.
  const since = Math.floor((now - stalledAfterMs) / MINUTE_MS) * MINUTE_MS
  const completed = measured.filter((one) => one.completed > 0).map(({ minute }) => minute)
  if (completed.some((minute) => minute >= since)) return []
  // Only what is known: work has waited since then, and nothing that was completed later was read.
  const stalledSince = Math.max(
    waitingSince,
    now - alertWindowMs(limits),
    ...completed.map((minute) => minute + MINUTE_MS),
  )
  return [
    {
      kind: 'stalled',
      message: `nothing completed in ${place} for ${seconds(now - stalledSince)} while ${waiting} wait; ${running} running`,
      fix: 'Run `gleaner status` to see what runs, and `gleaner tasks explain <id>` to see why a task waits.',
    },
  ]
}

function errorRate(place: string, here: readonly Measured[], { errorRate }: AlertLimits): Said[] {
  const failed = total(here.map((one) => one.failed + one.retried))
  const attempts = failed + total(here.map((one) => one.completed))
  if (errorRate === null || attempts < ATTEMPTS_MIN || failed / attempts <= errorRate) return []
  const worst = [...Map.groupBy(here, ({ name }) => name)]
    .map(([name, of]) => ({ name, failed: total(of.map((one) => one.failed + one.retried)) }))
    .sort((a, b) => b.failed - a.failed)[0]!
  return [
    {
      kind: 'error-rate',
      message: `${Math.round((failed / attempts) * 100)} % of ${attempts} attempts in ${place} failed, most of ${worst.name}`,
      fix: 'Read the errors of the last failures, for example with `gleaner tasks --status failed`.',
    },
  ]
}

function tooMuch({ place, waiting }: Backlog, { backlog }: AlertLimits): Said[] {
  if (backlog === null || waiting <= backlog) return []
  return [
    {
      kind: 'backlog',
      message: `${waiting} wait in ${place}, more than ${backlog}`,
      fix: 'Add workers, raise their concurrency, or raise `alerts.backlog` in the config.',
    },
  ]
}

function shortList(names: readonly string[]): string {
  return names.length <= 3 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0)
}
