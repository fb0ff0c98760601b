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
} from '../command.ts'
import { confirmed } from '../confirm.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { printJson } from '../printing.ts'
import { withProgress } from '../progress.ts'
import { FILTER_OPTIONS, filterOf } from '../task-filter.ts'
import type { Terminal } from '../terminal.ts'
import { plural } from '../words.ts'
import { eachOf } from './each-of.ts'

type Change = 'retry' | 'cancel' | 'remove'

const WORDS = {
  retry: {
    verb: 'Retry',
    done: 'retried',
    doing: 'retrying',
    summary: 'Run finished tasks again, from the beginning.',
    about:
      'The tasks that are named, or all that the filters name; without a status those that have failed. A task gets ' +
      'all its attempts again. One whose key another task holds is refused, and said so.',
    examples: [
      ['gleaner tasks retry 4711', 'One task.'],
      ['gleaner tasks retry --queue mail --finished-after 2h', 'What failed there in the last two hours.'],
    ],
  },
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    doing: 'cancelling',
    summary: 'Cancel tasks that wait, and ask those that run to stop.',
    about:
      'The tasks that are named, or all unfinished ones that the filters name. What waits is cancelled at once; what ' +
      'runs is asked to stop (ctx.signal), in whatever process it is.',
    examples: [
      ['gleaner tasks cancel 4711 4712', 'Two tasks.'],
      [
        'gleaner tasks cancel --name report.build --yes',
        'All of this task that are unfinished, without asking.',
      ],
    ],
  },
  remove: {
    verb: 'Remove',
    done: 'removed',
    doing: 'removing',
    summary: 'Remove tasks, with their results and logs.',
    about:
      'The tasks that are named, or all that the filters name; without a status those that have finished. What runs ' +
      'is not removed: cancel it first. A key that was taken for ever ends with its task.',
    examples: [
      ['gleaner tasks remove 4711', 'One task.'],
      ['gleaner tasks remove --status failed --dry-run', 'How many would it be?'],
    ],
  },
} as const

const BULK_OPTIONS = {
  ...FILTER_OPTIONS,
  all: { type: 'boolean', about: 'All there are, without any filter.' },
  'dry-run': { type: 'boolean', about: 'Say how many it would be, and do nothing.' },
  yes: YES_OPTION,
} satisfies Record<string, Option>

export const bulkCommands: readonly Command[] = (['retry', 'cancel', 'remove'] as const).map(
  (change): Command => ({
    name: `tasks ${change}`,
    summary: WORDS[change].summary,
    operands: [{ name: 'id', about: 'Tasks, by their ids; instead of filters.', optional: true, many: true }],
    about:
      `${WORDS[change].about}\n\n` +
      'With filters it counts first and asks: they may name more than you think. A script says --yes; where nobody ' +
      'can be asked and it does not, nothing is done. It goes in small steps while work goes on; interrupted, it is simply ' +
      'called again.',
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
    throw new UsageError('ids and filters do not go together', 'Name tasks, or say which by filters.')
  if (ids.length === 0 && !isNarrowed && !all)
    throw new UsageError(
      `gleaner tasks ${change} needs to know which tasks`,
      'Name their ids, or filters such as --status, --queue or --name; --all means all there are.',
    )
  return withOperations(values, terminal, (operations) =>
    ids.length > 0
      ? eachNamed(change, ids, operations, values, terminal)
      : allMatching(change, filter, operations, values, terminal),
  )
}

function eachNamed(
  change: Change,
  ids: readonly string[],
  { tasks }: Operations,
  values: Values,
  terminal: Terminal,
): Promise<number> {
  if (values['dry-run'] === true)
    throw new UsageError('--dry-run counts what filters name', 'Leave it out, or name no ids.')
  return eachOf(ids, values, terminal, async (id) => {
    if ((await tasks[change](id)) === false) return `task ${id} had finished already`
    return `task ${id} ${change === 'retry' ? 'runs again' : `is ${WORDS[change].done}`}`
  })
}

async function allMatching(
  change: Change,
  filter: TaskQuery,
  { tasks }: Operations,
  values: Values,
  terminal: Terminal,
): Promise<number> {
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
  if (values['dry-run'] === true || would.changed === 0) return told(change, would, values, terminal)
  if (!(await confirmed(`${verb} ${plural(would.changed, 'task')}`, values, terminal))) return 1
  const answer = await withProgress(terminal, doing, (tell) =>
    changeAll(filter, {
      all,
      onProgress: ({ changed }) =>
        tell({ fraction: changed / would.changed, detail: `${changed} of ${would.changed}` }),
    }),
  )
  return told(change, answer, values, terminal)
}

function told(change: Change, answer: BulkAnswer, values: Values, terminal: Terminal): number {
  if (values.json === true) printJson(answer, terminal)
  else {
    const { changed, refused, refusals, dryRun } = answer
    terminal.print(`${plural(changed, 'task')} ${dryRun ? 'would be ' : ''}${WORDS[change].done}`)
    if (refused > 0)
      terminal.print(`${plural(refused, 'task')} ${dryRun ? 'would be ' : ''}left as they are:`)
    for (const { id, reason, by } of refusals)
      terminal.print(
        `  ${id} ${reason === 'running' ? 'is running' : 'has a key that is held'}${by === null ? '' : ` by ${by}`}`,
      )
    if (refused > refusals.length) terminal.print(`  … and ${refused - refusals.length} more`)
  }
  return 0
}
