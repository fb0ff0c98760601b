import { FINISHED_STATUSES, TASK_STATUSES, type TaskStatus } from '../../model/task.ts'
import type { BulkAnswer } from '../../queue/bulk.ts'
import type { TaskQuery } from '../../queue/task-query.ts'
import {
  type Command,
  JSON_OPTION,
  type Option,
  PLACE_OPTIONS,
  UsageError,
  type Values,
  YES_OPTION,
} from '../console/command.ts'
import { confirmed } from '../console/confirm.ts'
import { printJson } from '../console/printing.ts'
import { withProgress } from '../console/progress.ts'
import { FILTER_OPTIONS, filterOf } from '../console/task-filter.ts'
import type { Terminal } from '../console/terminal.ts'
import { plural } from '../console/words.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { eachOf } from './each-of.ts'

type Change = 'retry' | 'cancel' | 'remove'

const WORDS = {
  retry: {
    verb: 'Retry',
    done: 'retried',
    doing: 'retrying',
    summary: 'Run finished tasks again, from the beginning.',
    about:
      'Retries the named tasks, or all tasks that match the filters. Without --status it retries failed tasks. A task ' +
      'gets all its attempts again. If another task holds the key of a task, that task is left as it is, and the ' +
      'output says so.',
    examples: [
      ['gleaner tasks retry 4711', 'Retry one task.'],
      [
        'gleaner tasks retry --queue mail --finished-after 2h',
        'Retry what failed in this queue in the last two hours.',
      ],
    ],
  },
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    doing: 'cancelling',
    summary: 'Cancel waiting and running tasks.',
    about:
      'Cancels the named tasks, or all unfinished tasks that match the filters. A waiting task is cancelled at once. A ' +
      'running task gets its ctx.signal aborted, in any process.',
    examples: [
      ['gleaner tasks cancel 4711 4712', 'Cancel two tasks.'],
      ['gleaner tasks cancel --running-longer-than 1h', 'Cancel what has run for more than an hour.'],
      [
        'gleaner tasks cancel --name report.build --yes',
        'Cancel all unfinished tasks of this name, without asking.',
      ],
    ],
  },
  remove: {
    verb: 'Remove',
    done: 'removed',
    doing: 'removing',
    summary: 'Remove tasks, with their results and logs.',
    about:
      'Removes the named tasks, or all tasks that match the filters. Without --status it removes finished tasks only, ' +
      'also with --all: tasks that wait or run stay, and the output says how many. To remove waiting tasks, pass ' +
      '--status queued or --status scheduled. A running task is not removed: cancel it first. A key with the scope ' +
      '`forever` becomes free with its task.',
    examples: [
      ['gleaner tasks remove 4711', 'Remove one task.'],
      ['gleaner tasks remove --all --dry-run', 'Count all finished tasks, and what would stay.'],
      ['gleaner tasks remove --status failed --dry-run', 'Count the tasks that would be removed.'],
    ],
  },
} as const

const BULK_OPTIONS = {
  ...FILTER_OPTIONS,
  all: { type: 'boolean', about: 'Without any filter: all tasks that the command applies to.' },
  'dry-run': { type: 'boolean', about: 'Only count the tasks. Change nothing.' },
  yes: YES_OPTION,
} satisfies Record<string, Option>

export const bulkCommands: readonly Command[] = (['retry', 'cancel', 'remove'] as const).map(
  (change): Command => ({
    name: `tasks ${change}`,
    summary: WORDS[change].summary,
    operands: [{ name: 'id', about: 'Ids of tasks, instead of filters.', optional: true, many: true }],
    about:
      `${WORDS[change].about}\n\n` +
      'With filters the command counts the tasks first and asks. In scripts, pass --yes: without a terminal and without ' +
      '--yes the command changes nothing and exits with 2. Large changes are made in small steps, so that workers ' +
      'continue. If the command is interrupted, run it again.',
    options: { ...PLACE_OPTIONS, json: JSON_OPTION, ...BULK_OPTIONS },
    examples: WORDS[change].examples,
    run: (ids, values, terminal) => changeTasks(change, ids, values, terminal),
  }),
)

function changeTasks(
  change: Change,
  ids: readonly string[],
  values: Values,
  terminal: Terminal,
): Promise<number> {
  const filter = filterOf(values, Date.now())
  const all = values.all === true
  const isNarrowed = Object.keys(filter).length > 0
  if (ids.length > 0 && (isNarrowed || all))
    throw new UsageError(
      'ids and filters exclude each other',
      'Name ids, or use filters such as --status, not both.',
    )
  if (ids.length === 0 && !isNarrowed && !all)
    throw new UsageError(
      `gleaner tasks ${change} needs to know which tasks`,
      'Name ids, or use filters such as --status, --queue or --name. --all means all tasks.',
    )
  return withOperations(values, terminal, (operations) =>
    ids.length > 0
      ? eachNamed({ change, operations, values, terminal }, ids)
      : allMatching({ change, operations, values, terminal }, filter),
  )
}

interface BulkChange {
  change: Change
  operations: Operations
  values: Values
  terminal: Terminal
}

function eachNamed(
  { change, operations, values, terminal }: BulkChange,
  ids: readonly string[],
): Promise<number> {
  const { tasks } = operations
  if (values['dry-run'] === true)
    throw new UsageError('--dry-run counts tasks that match filters', 'Leave out --dry-run, or the ids.')
  return eachOf(ids, values, terminal, async (id) => {
    if ((await tasks[change](id)) === false) return `task ${id} has finished already`
    return `task ${id} ${change === 'retry' ? 'is queued again' : `is ${WORDS[change].done}`}`
  })
}

async function allMatching(
  { change, operations, values, terminal }: BulkChange,
  filter: TaskQuery,
): Promise<number> {
  const { tasks } = operations
  const { verb, doing } = WORDS[change]
  const all = values.all === true
  const changeAll = tasks[`${change}All`]
  const would = await withProgress(terminal, 'counting', (tell) =>
    changeAll(filter, {
      dryRun: true,
      all,
      onProgress: ({ changed }) => tell({ detail: plural(changed, 'task') }),
    }),
  )
  const tell = async (answer: BulkAnswer) =>
    told(change, { answer, left: await leftBy(change, filter, operations) }, values, terminal)
  if (values['dry-run'] === true || would.changed === 0) return tell(would)
  const tasksOfWhat = `${plural(would.changed, 'task')}${byStatus(would.statuses)}`
  if (!(await confirmed(`${verb} ${tasksOfWhat}`, values, terminal))) return 1
  const answer = await withProgress(terminal, doing, (tell) =>
    changeAll(filter, {
      all,
      onProgress: ({ changed }) =>
        tell({ fraction: changed / would.changed, detail: `${changed} of ${would.changed}` }),
    }),
  )
  return tell(answer)
}

/** What a removal without a status does not touch. Null: nothing can be said of it, or nothing is left. */
async function leftBy(change: Change, filter: TaskQuery, { queues }: Operations): Promise<string | null> {
  if (change !== 'remove' || filter.status !== undefined) return null
  // Only the counters of queues tell it at any number of tasks.
  if (Object.keys(filter).some((name) => name !== 'queue')) return 'tasks that wait or run stay'
  const those = (await queues.list()).filter(({ name }) => name === (filter.queue ?? name))
  const unfinished = TASK_STATUSES.filter((status) => !FINISHED_STATUSES.includes(status as never))
  const left = Object.fromEntries(
    unfinished.map((status) => [status, those.reduce((sum, queue) => sum + (queue[status] ?? 0), 0)]),
  )
  const total = Object.values(left).reduce((sum, count) => sum + count, 0)
  return total === 0
    ? null
    : `${plural(total, 'unfinished task')} ${total === 1 ? 'stays' : 'stay'}${byStatus(left)}`
}

/** `: 3 failed, 1 cancelled`. */
function byStatus(statuses: Partial<Record<TaskStatus, number>> = {}): string {
  const parts = Object.entries(statuses).flatMap(([status, count]) =>
    count > 0 ? [`${count} ${status}`] : [],
  )
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`
}

function told(
  change: Change,
  { answer, left }: { answer: BulkAnswer; left: string | null },
  values: Values,
  terminal: Terminal,
): number {
  if (values.json === true) printJson(answer, terminal)
  else {
    const { changed, statuses, refused, refusals, dryRun } = answer
    terminal.print(
      `${plural(changed, 'task')} ${dryRun ? 'would be ' : ''}${WORDS[change].done}${byStatus(statuses)}`,
    )
    if (left !== null) terminal.print(left)
    if (refused > 0) terminal.print(`${plural(refused, 'task')} ${dryRun ? 'would be ' : ''}left unchanged:`)
    for (const { id, reason, by } of refusals)
      terminal.print(
        `  ${id} ${reason === 'running' ? 'is running' : 'has a key that is held'}${by === null ? '' : ` by ${by}`}`,
      )
    if (refused > refusals.length) terminal.print(`  … and ${refused - refusals.length} more`)
  }
  return 0
}
