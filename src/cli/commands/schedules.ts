import type { ScheduleRecord } from '../../model/schedule.ts'
import { type Command, JSON_OPTION, type Operand, PLACE_OPTIONS } from '../command.ts'
import { withOperations } from '../operations/open.ts'
import { printJson, printTable } from '../printing.ts'
import { columns, moment } from '../words.ts'

const NAME: Operand = { name: 'schedule', about: 'It has the name of its task.' }
const OPTIONS = { ...PLACE_OPTIONS, json: JSON_OPTION }

const list: Command = {
  name: 'schedules list',
  summary: 'List what recurs, and when it does next.',
  operands: [],
  about:
    'Every task with `every` that was ever planned on this database, with its time zone, when it is due next, and the ' +
    'task of its last occurrence.',
  options: OPTIONS,
  examples: [['gleaner schedules', 'The list.']],
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
    summary: verb === 'pause' ? 'Enqueue no more occurrences.' : 'Go on with the next occurrence.',
    operands: [NAME],
    about:
      verb === 'pause'
        ? 'No process enqueues an occurrence any more. What was enqueued goes on.'
        : 'Goes on with the next occurrence; those of the pause are not made up for.',
    options: OPTIONS,
    examples: [[`gleaner schedules ${verb} nightly`, verb === 'pause' ? 'Stop it.' : 'Go on.']],
    run: ([name], values, terminal) =>
      withOperations(values, terminal, async ({ schedules }) => {
        await schedules[verb](name!)
        if (values.json === true) printJson({ schedule: name, paused: verb === 'pause' }, terminal)
        else terminal.print(`schedule ${name} ${verb === 'pause' ? 'is paused' : 'goes on'}`)
        return 0
      }),
  }),
)

const trigger: Command = {
  name: 'schedules trigger',
  summary: 'Enqueue an occurrence now, whatever the time.',
  operands: [NAME],
  about:
    'Also of one that is paused. While the task of its last occurrence is unfinished nothing is enqueued, and that task ' +
    'is named instead.',
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
