import { shown } from '../define/names.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import type { Keep, Retention } from '../model/retention.ts'
import { FINISHED_STATUSES, type FinishedStatus } from '../model/task.ts'
import { declareOptions, knownOptions, type Parts } from '../options.ts'

/** `'7d'` since it finished; the newest `count` of each queue; both, whichever is reached first; `false`: forever. */
export type KeepOption = Duration | false | { age?: Duration; count?: number }

/** How long to keep finished tasks of each status. */
export interface RetentionOptions {
  /** Tasks that completed. Default `'7d'`. */
  completed?: KeepOption
  /** Tasks that failed. Default `'30d'`. */
  failed?: KeepOption
  /** Tasks that were cancelled. Default `'7d'`. */
  cancelled?: KeepOption
}

/** What failed is looked into, perhaps after a holiday; what was cancelled somebody knows of already. */
const DEFAULTS: Record<FinishedStatus, KeepOption> = { completed: '7d', failed: '30d', cancelled: '7d' }

const RETENTION = declareOptions<RetentionOptions>('retention', {
  completed: true,
  failed: true,
  cancelled: true,
})
const KEEP = declareOptions<Parts<'age' | 'count'>>('retention of a status', { age: true, count: true })
const FOR_EVER: Keep = { ageMs: null, count: null }

/** As given to openGleaner: what is not said is as usual. */
export function retentionOf(options: RetentionOptions | false): Retention {
  if (options === false) return keepingAll({})
  return keepingAll({ ...DEFAULTS, ...given(options, 'retention') })
}

/** As given to `prune`: what is not said is kept. */
export function pruningOf(options: RetentionOptions): Retention {
  return keepingAll(given(options, 'prune'))
}

function given(options: RetentionOptions, what: string): RetentionOptions {
  if (typeof options !== 'object' || options === null)
    throw bad(what, options, "Use { completed: '7d' }, or false to keep everything.")
  const unknown = Object.keys(options).find((name) => !RETENTION.names.includes(name))
  if (unknown !== undefined) throw bad(`${what}: status`, unknown, knownOptions(unknown, RETENTION.names))
  return Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined))
}

function keepingAll(options: RetentionOptions): Retention {
  const [completed, failed, cancelled] = FINISHED_STATUSES.map((status) => keepOf(options[status], status))
  return { completed: completed!, failed: failed!, cancelled: cancelled! }
}

function keepOf(option: KeepOption | undefined, status: string): Keep {
  if (option === undefined || option === false) return FOR_EVER
  if (typeof option !== 'object') return { ageMs: durationMs(option, status), count: null }
  if (option === null) throw bad(status, option, "Use '7d', { age: '7d', count: 1000 }, or false.")
  const unknown = Object.keys(option).find((name) => !KEEP.names.includes(name))
  if (unknown !== undefined) throw bad(`${status}: option`, unknown, knownOptions(unknown, KEEP.names))
  const { age, count } = option
  if (count !== undefined && (!Number.isInteger(count) || count < 0))
    throw bad(`${status}.count`, count, 'Use a whole number of tasks.')
  return { ageMs: age === undefined ? null : durationMs(age, `${status}.age`), count: count ?? null }
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_OPTION', hint })
}
