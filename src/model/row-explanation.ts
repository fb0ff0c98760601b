import { type Explanation, namesOf, readinessReasons, type Serving, waitReason } from './explanation.ts'
import { commandWord, duration, failed, passed, quotedText, type Reason, time, times } from './reasons.ts'
import { type RowRecord, rowId } from './row.ts'
import type { WaitRecord } from './wait.ts'

/** All that decides whether a row can run now. */
export interface RowCircumstances {
  discovery: string
  key: string
  /** Why the declaration does not fit its table, so that it is not known whether there is such a row; null: it fits. */
  problem: string | null
  /** Whether the table has such a row at all. */
  exists: boolean
  /** Null: it does not match the condition. */
  row: RowRecord | null
  where: string
  now: number
  /** It is run alone, because its worker died while it was in its hands. */
  suspect: boolean
  /** What it waits for while it is suspended. */
  waits: readonly WaitRecord[]
  everythingPaused: boolean
  paused: boolean
  pausedReason: string | null
  /** The index that is missing. */
  createIndex: string | null
  workers: readonly Serving[]
}

/** Why a row is not worked on: each condition in order, pass or fail. A missing index is told, and holds up nobody. */
export function explainRow(at: RowCircumstances): Explanation {
  const reasons = at.problem !== null ? misfit(at) : at.row === null ? notOurs(at) : waiting(at)
  const runnable = reasons.every((reason) => reason.ok)
  return { runnable, reasons: [...reasons, indexReason(at)] }
}

/** Nothing can be said of the row, but all that decides whether the discovery is worked on. */
function misfit(at: RowCircumstances): Reason[] {
  const fix = `Change the table or the declaration so that they fit. Then call \`gleaner.discoveries.resume('${at.discovery}')\`.`
  return [
    failed('declaration-fits-table', at.problem!, fix),
    pausedReason(at),
    discoveryReason(at),
    ...workerReasons(at),
  ]
}

/** What does not match the condition is none of our business. */
function notOurs({ key, discovery, exists, where }: RowCircumstances): Reason[] {
  if (!exists) {
    const fix = 'Check the key. A key of several columns is a JSON array, for example \'["a",1]\'.'
    return [failed('row-exists', `the table of ${discovery} has no row ${quotedText(key)}`, fix)]
  }
  const detail = `the row does not match the condition of ${discovery}: ${where}`
  return [
    passed('row-exists', 'the row exists'),
    failed('needs-work', detail, 'If the row needs work, change it so that it matches.'),
  ]
}

function waiting(at: RowCircumstances): Reason[] {
  const reasons = [
    passed('row-exists', 'the row exists'),
    passed('needs-work', `the row matches the condition: ${at.where}`),
    heldReason(at),
    quarantineReason(at),
    ...suspendedReasons(at),
    backoffReason(at),
    pausedReason(at),
    discoveryReason(at),
    ...workerReasons(at),
  ]
  if (!at.suspect) return reasons
  const alone = 'its worker died while the row was in flight: it waits for a process that runs nothing else'
  return [...reasons, passed('runs-alone', alone)]
}

function heldReason({ row }: RowCircumstances): Reason {
  if (row?.state !== 'claimed') return passed('not-held', 'no worker holds it')
  return failed(
    'not-held',
    `${row.worker ?? 'a worker'} has held it since ${time(row.since)}`,
    'Wait until it ends.',
  )
}

function quarantineReason({ row, discovery, key }: RowCircumstances): Reason {
  if (row?.state !== 'quarantined') return passed('not-quarantined', 'the row is not quarantined')
  const attempts = `${row.attempts} ${row.attempts === 1 ? 'attempt' : 'attempts'}`
  const crashes = row.crashes === 0 ? '' : `; its worker died ${times(row.crashes)}`
  return failed(
    'not-quarantined',
    `the row was quarantined at ${time(row.since)} after ${attempts}${crashes}: ${row.error?.message ?? 'unknown'}`,
    `Fix the cause, then run \`gleaner discoveries release ${discovery} ${commandWord(key)}\`, or ` +
      `discoveries.release('${discovery}', ${quotedText(key)}) in code. An edit of the row also releases it.`,
  )
}

function suspendedReasons({ row, waits, discovery, key }: RowCircumstances): Reason[] {
  if (row?.state !== 'suspended') return []
  const item = rowId(discovery, commandWord(key))
  return waits.map((wait) => waitReason(wait, `gleaner signal ${item} ${commandWord(wait.name)}`))
}

function backoffReason({ row, now, discovery, key }: RowCircumstances): Reason {
  if (row?.state !== 'backing-off') return passed('not-backing-off', 'the row is not backing off')
  const { nextAt, attempts, error } = row
  return failed(
    'not-backing-off',
    `attempt ${attempts} ended without success (${error?.message ?? 'the handler asked to run later'}); the next attempt is at ` +
      `${time(nextAt)}, in ${duration((nextAt ?? now) - now)}`,
    `Wait for it, or run \`gleaner discoveries retry ${discovery} ${commandWord(key)}\`, or ` +
      `discoveries.retry('${discovery}', ${quotedText(key)}) in code.`,
  )
}

function pausedReason({ everythingPaused }: RowCircumstances): Reason {
  return everythingPaused
    ? failed('not-paused', 'everything is paused', 'To resume, call `gleaner.resume()`.')
    : passed('not-paused', 'Gleaner is not paused')
}

function discoveryReason({ discovery, paused, pausedReason }: RowCircumstances): Reason {
  if (!paused) return passed('discovery-not-paused', `discovery ${discovery} is not paused`)
  const why = pausedReason === null ? '' : `: ${pausedReason}`
  return failed(
    'discovery-not-paused',
    `discovery ${discovery} is paused${why}`,
    `${pausedReason === null ? 'To resume it, call' : 'Fix the cause, then call'} \`gleaner.discoveries.resume('${discovery}')\`.`,
  )
}

function workerReasons({ discovery, workers }: RowCircumstances): Reason[] {
  const serving = workers.filter((worker) => worker.discoveries.includes(discovery))
  const served = passed('worker-serves-discovery', `live workers that serve it: ${namesOf(serving)}`)
  if (serving.length > 0) return [served, ...readinessReasons(discovery, serving)]
  const others = workers.length === 0 ? 'no worker is alive' : `other live workers: ${namesOf(workers)}`
  return [
    failed(
      'worker-serves-discovery',
      `no live worker serves discovery ${discovery}; ${others}`,
      `Start one: add ${quotedText(discovery)} to the \`discoveries\` of a pool in the config and restart \`gleaner start\`, or call \`gleaner.work({ discoveries: ['${discovery}'] })\`.`,
    ),
  ]
}

function indexReason({ discovery, createIndex }: RowCircumstances): Reason {
  if (createIndex === null) return passed('found-by-index', 'an index finds the rows that need work')
  const detail = `to find rows that need work, ${discovery} reads rows that do not, which is slow on a large table`
  return failed('found-by-index', detail, createIndex)
}
