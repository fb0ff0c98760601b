import { type Duration, durationMs } from '../../duration.ts'
import { FINISHED_STATUSES, type FinishedStatus } from '../../model/task.ts'
import {
  type Command,
  JSON_OPTION,
  type Option,
  PLACE_OPTIONS,
  text,
  type Values,
  YES_OPTION,
} from '../console/command.ts'
import { confirmed } from '../console/confirm.ts'
import { printJson } from '../console/printing.ts'
import { withProgress } from '../console/progress.ts'
import type { Terminal } from '../console/terminal.ts'
import { aDuration } from '../console/values.ts'
import { plural } from '../console/words.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'

const AGE_OPTIONS = Object.fromEntries(
  FINISHED_STATUSES.map((status): [FinishedStatus, Option] => [
    status,
    {
      type: 'string',
      value: 'age',
      check: aDuration,
      about: `Those ${status} that long ago or longer; 0s means all.`,
    },
  ]),
)

export const prune: Command = {
  name: 'prune',
  summary: 'Remove finished tasks that are past their retention.',
  operands: [],
  about:
    'Without options it does now what workers do by themselves: it removes tasks that are past the ' +
    '`retention` of the config, or, with --url, of the server. With --completed, --failed or --cancelled it ' +
    'removes tasks by these ages, and keeps tasks whose status you do not name. It then counts the tasks ' +
    'first and asks. In scripts, pass --yes. Keys with the scope `forever` stay taken. The tasks are removed ' +
    'in small steps, so that workers continue.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION, ...AGE_OPTIONS, yes: YES_OPTION },
  examples: [
    ['gleaner prune', 'Remove tasks by the retention of the config.'],
    ['gleaner prune --completed 1h', 'Remove tasks that completed more than an hour ago.'],
    [
      'gleaner prune --completed 0s --failed 0s --cancelled 0s --yes',
      'Remove all finished tasks, without asking.',
    ],
  ],
  run: (_operands, values, terminal) => {
    const ages = agesOf(values)
    return withOperations(values, terminal, async (operations) => {
      const count = ages === undefined ? null : await counted(operations, ages, terminal)
      if (count !== null && count > 0) {
        if (!(await confirmed(`Remove ${plural(count, 'finished task')}`, values, terminal))) return 1
      }
      const { removed } = await withProgress(terminal, 'pruning', (tell) =>
        operations.maintenance.prune(ages, {
          onProgress: (soFar) =>
            tell({
              detail: plural(soFar.removed, 'task'),
              fraction: count === null || count === 0 ? null : soFar.removed / count,
            }),
        }),
      )
      if (values.json === true) printJson({ removed }, terminal)
      else terminal.print(`${plural(removed, 'task')} removed`)
      return 0
    })
  },
}

type Ages = Partial<Record<FinishedStatus, Duration>>

function agesOf(values: Values): Ages | undefined {
  const ages: Ages = {}
  for (const status of FINISHED_STATUSES) {
    const age = text(values[status])
    if (age === undefined) continue
    ages[status] = age as Duration
  }
  return Object.keys(ages).length === 0 ? undefined : ages
}

async function counted({ tasks }: Operations, ages: Ages, terminal: Terminal): Promise<number> {
  const now = Date.now()
  return withProgress(terminal, 'counting', async () => {
    let count = 0
    for (const [status, age] of Object.entries(ages) as [FinishedStatus, Duration][]) {
      const finishedBefore = Math.max(1, now - durationMs(age, `--${status}`) + 1)
      count += (await tasks.removeAll({ status, finishedBefore }, { dryRun: true })).changed
    }
    return count
  })
}
