import type { ScheduleRecord } from '../../model/schedule.ts'
import { type Command, JSON_OPTION, type Operand, PLACE_OPTIONS } from '../console/command.ts'
import { printJson, printTable } from '../console/printing.ts'
import { columns, moment } from '../console/words.ts'
import { withOperations } from '../operations/open.ts'

const NAME: Operand = { name: 'schedule', about: 'The name of the schedule, which is the name of its task.' }
const OPTIONS = { ...PLACE_OPTIONS, json: JSON_OPTION }

const list: Command = {
  name: 'schedules list',
  summary: 'List schedules and their next occurrences.',
  operands: [],
  about:
    'Lists every task with `every` that was ever declared on this database, with its time zone, its next ' +
    'occurrence, and the task of its last occurrence.',
  options: OPTIONS,
  examples: [['gleaner schedules', 'List all schedules.']],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async ({ schedules }) => {
      const all = await schedules.list()
      if (values.json === true) printJson(all, terminal)
      else if (all.length === 0) terminal.print('no schedules')
      else printTable(listed(all, Date.now()), terminal)
      return 0
    }),
}

const switches = (['pause', 'resume'] as const).map(
  (verb): Command => ({
    name: `schedules ${verb}`,
    summary: verb === 'pause' ? 'Stop enqueuing occurrences.' : 'Continue with the next occurrence.',
    operands: [NAME],
    about:
      verb === 'pause'
        ? 'No process enqueues an occurrence any more. Tasks that are enqueued already continue.'
        : 'The schedule continues with its next occurrence. Occurrences during the pause are skipped.',
    options: OPTIONS,
    examples: [[`gleaner schedules ${verb} nightly`, verb === 'pause' ? 'Pause it.' : 'Resume it.']],
    run: ([name], values, terminal) =>
      withOperations(values, terminal, async ({ schedules }) => {
        await schedules[verb](name!)
        if (values.json === true) printJson({ schedule: name, paused: verb === 'pause' }, terminal)
        else terminal.print(`schedule ${name} ${verb === 'pause' ? 'is paused' : 'is resumed'}`)
        return 0
      }),
  }),
)

const trigger: Command = {
  name: 'schedules trigger',
  summary: 'Enqueue an occurrence now.',
  operands: [NAME],
  about:
    'Works for a paused schedule, too. If the task of the last occurrence is unfinished, the command ' +
    'enqueues nothing and names that task.',
  options: OPTIONS,
  examples: [['gleaner schedules trigger nightly', 'Now.']],
  run: ([name], values, terminal) =>
    withOperations(values, terminal, async ({ schedules }) => {
      const { id, created } = await schedules.trigger(name!)
      if (values.json === true) printJson({ id, created }, terminal)
      else
        terminal.print(
          created
            ? `enqueued ${name} as task ${id}`
            : `task ${id} of ${name} is unfinished: nothing was enqueued`,
        )
      return 0
    }),
}

export const schedules: readonly Command[] = [list, ...switches, trigger]

function listed(schedules: readonly ScheduleRecord[], now: number): string[] {
  return columns(
    ['schedule', 'every', 'time zone', 'next', 'last', 'last task', ''],
    schedules.map(({ name, every, timezone, nextAt, lastAt, lastTask, paused }) => [
      name,
      every,
      timezone ?? '-',
      moment(nextAt, now),
      moment(lastAt, now),
      lastTask ?? '-',
      paused ? 'paused' : '',
    ]),
  )
}
