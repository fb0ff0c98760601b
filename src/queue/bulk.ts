import { InputError } from '../errors.ts'
import { FINISHED_STATUSES, type TaskStatus } from '../model/task.ts'
import { checkTypes, declareOptions, refuseUnknown } from '../options.ts'
import type { BulkChange, BulkStepDone, Refusal, TaskFilter, TaskStore } from '../store/ports/tasks.ts'
import { checkQuery, refuseContradictions, type TaskQuery } from './task-query.ts'

/** How to change many tasks. */
export interface BulkOptions {
  /** Only counts the tasks, and changes nothing. */
  dryRun?: boolean
  /** An empty filter matches every task: it is refused unless this is true. */
  all?: boolean
  /** Called after each step, with the number of tasks so far. */
  onProgress?: (soFar: { changed: number; refused: number }) => void
}

/** What a change of many tasks did. */
export interface BulkAnswer {
  /** Tasks that were retried, cancelled or removed; in a dry run, that would be. */
  changed: number
  /** How many of `changed` were in each status before. Statuses with none are left out. */
  statuses: Partial<Record<TaskStatus, number>>
  /** Tasks that were left unchanged: another task holds their key, or a worker holds them. */
  refused: number
  /** The first hundred of these tasks, with the reason. */
  refusals: Refusal[]
  /** True if nothing was changed. */
  dryRun: boolean
}

/** Tasks of one step, each a transaction of its own: work goes on between them. */
const STEP_TASKS = 250
const REFUSALS_MAX = 100
/** Tasks change while we go through them: as long as a round finds something, another one follows. */
const ROUNDS_MAX = 20

const WAITING: readonly TaskStatus[] = ['suspended', 'scheduled', 'queued']
const UNFINISHED: readonly TaskStatus[] = [...WAITING, 'running']

/** What a change applies to; the first are meant when no status is given. */
const STATUSES: Record<BulkChange, { meant: readonly TaskStatus[]; possible: readonly TaskStatus[] }> = {
  // What has completed is run again only if that is asked for.
  retry: { meant: ['failed'], possible: FINISHED_STATUSES },
  // In the direction in which they move, so that few slip through.
  cancel: { meant: UNFINISHED, possible: UNFINISHED },
  // What still waits is removed only if that is asked for.
  remove: { meant: FINISHED_STATUSES, possible: [...FINISHED_STATUSES, ...WAITING] },
}

/** Changes all tasks that a query names, in bounded steps. Killed in between, it is simply called again. */
export async function changeAll(
  store: TaskStore,
  change: BulkChange,
  query: TaskQuery,
  options: BulkOptions = {},
): Promise<BulkAnswer> {
  const filters = filtersOf(change, query, options)
  const { dryRun = false } = options
  const taken = dryRun ? { taken: new Map<string, string>() } : null
  const answer: BulkAnswer = { changed: 0, statuses: {}, refused: 0, refusals: [], dryRun }
  let upTo: string | null = null

  /** True: something slipped through, or may have. */
  const round = async (): Promise<boolean> => {
    let again = false
    // Whatever cannot be changed is met again.
    answer.refused = 0
    answer.refusals = []
    for (const filter of filters) {
      let cursor: string | null = null
      do {
        const page = { limit: STEP_TASKS, cursor }
        const done: BulkStepDone = await store.changeTasks({ change, filter, page, upTo, dryRun: taken })
        if (add(answer, done, filter.status))
          options.onProgress?.({ changed: answer.changed, refused: answer.refused })
        if (done.passedOver > 0 || (change === 'cancel' && done.changed > 0)) again = true
        upTo = done.upTo
        cursor = done.next
        await new Promise(setImmediate)
      } while (cursor !== null)
    }
    return again
  }

  for (let rounds = 0; rounds < ROUNDS_MAX && (await round()) && !dryRun; rounds++);
  return answer
}

function add(answer: BulkAnswer, { changed, refused }: BulkStepDone, status: TaskStatus): boolean {
  answer.changed += changed
  if (changed > 0) answer.statuses[status] = (answer.statuses[status] ?? 0) + changed
  answer.refused += refused.length
  answer.refusals.push(...refused.slice(0, REFUSALS_MAX - answer.refusals.length))
  return changed + refused.length > 0
}

function filtersOf(
  change: BulkChange,
  query: TaskQuery,
  options: BulkOptions,
): (TaskFilter & { status: TaskStatus })[] {
  refuseUnknown(options, OPTIONS, `${change}All`)
  checkTypes(options, { dryRun: 'boolean', all: 'boolean', onProgress: 'function' }, `${change}All`)
  const filter = checkQuery(query)
  const { status } = filter
  if (Object.keys(filter).length === 0 && options.all !== true) {
    throw bad(
      `${change}All: an empty filter matches every task`,
      `Narrow it, or confirm it with ${change}All({}, { all: true }). With { dryRun: true } it only counts them.`,
    )
  }
  const { meant, possible } = STATUSES[change]
  if (status !== undefined && !possible.includes(status)) {
    throw bad(
      `${change}All: tasks that are ${status} cannot be`,
      `It is possible for: ${possible.join(', ')}.`,
    )
  }
  return (status === undefined ? meantOf(meant, filter) : [status]).map((one) =>
    checked({ ...filter, status: one }),
  )
}

/** What waits has no start. */
function meantOf(meant: readonly TaskStatus[], { startedBefore }: TaskFilter): readonly TaskStatus[] {
  return startedBefore === undefined ? meant : meant.filter((status) => !WAITING.includes(status))
}

/** The status that is meant may contradict the times. */
function checked<F extends TaskFilter>(filter: F): F {
  refuseContradictions(filter)
  return filter
}

const OPTIONS = declareOptions<BulkOptions>('a change of many tasks', {
  dryRun: true,
  all: true,
  onProgress: true,
})

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
