import { TaskGone } from '../../errors.ts'
import { type Command, JSON_OPTION, type Operand, PLACE_OPTIONS, text, UsageError } from '../command.ts'
import { followed, INTERRUPTED } from '../following.ts'
import { withOperations } from '../operations/open.ts'
import { gathered, PAGE_OPTIONS } from '../paging.ts'
import { printJson, printTable } from '../printing.ts'
import { FILTER_OPTIONS, filterOf } from '../task-filter.ts'
import { attemptTable, explanationLines, logText, taskLines, taskTable } from '../text/task.ts'
import { bulkCommands } from './tasks-bulk.ts'

const ID: Operand = { name: 'id', about: 'The id of a task, as `gleaner tasks list` shows it.' }
const OPTIONS = { ...PLACE_OPTIONS, json: JSON_OPTION }
const LOGS_DEFAULT = 1_000

const list: Command = {
  name: 'tasks list',
  summary: 'List tasks, of any status, queue, name, age or error.',
  operands: [],
  about:
    'Without a status the newest come first; queued ones in the order they will run, scheduled ones by when they are ' +
    'due, finished ones by when they finished, the last first. All filters hold together.\n\n' +
    'With --json it prints { items, next } with whole records; next goes to --cursor for what follows.',
  options: { ...OPTIONS, ...FILTER_OPTIONS, ...PAGE_OPTIONS },
  examples: [
    ['gleaner tasks', 'The newest.'],
    ['gleaner tasks --status failed --queue mail -n 10', 'The last ten that failed there.'],
    ['gleaner tasks list --error ECONNREFUSED --finished-after 2h', 'What met this error lately.'],
    ["gleaner tasks --status running --json | jq -r '.items[].id'", 'Ids, for a script.'],
  ],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      const now = Date.now()
      const filter = filterOf(values, now)
      const page = await gathered(values, (part) => tasks.list({ ...filter, ...part }))
      if (values.json === true) printJson(page, terminal)
      else {
        if (page.items.length === 0) terminal.print('no tasks')
        else printTable(taskTable(page.items, now), terminal)
        if (page.next !== null)
          terminal.complain(`there are more: --cursor ${page.next}, or a larger --limit`)
      }
      return 0
    }),
}

const show: Command = {
  name: 'tasks show',
  summary: 'Show all about a task: input, result, error, attempts.',
  operands: [ID],
  about:
    'The whole record, with the error and where in the code it was thrown, and how each attempt ended. With --json ' +
    'the record alone, as the library and the HTTP API have it; `gleaner tasks attempts` has the attempts.\n\n' +
    'Fields that `server.redact` in the config names are hidden, here as over HTTP.',
  options: OPTIONS,
  examples: [
    ['gleaner tasks show 4711', 'For reading.'],
    ['gleaner tasks show 4711 --json | jq .result', 'What it returned.'],
  ],
  run: ([id], values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      const task = await tasks.get(id!)
      if (task === null) throw new TaskGone(id!)
      if (values.json === true) printJson(task, terminal)
      else {
        const attempts = await tasks.attempts(id!)
        for (const line of taskLines(task, attempts, Date.now(), terminal.style)) terminal.print(line)
      }
      return 0
    }),
}

const logs: Command = {
  name: 'tasks logs',
  summary: 'Show what a task has logged, in all its attempts.',
  operands: [ID],
  about:
    'What the handler wrote with ctx.log, and for programs in other languages what they wrote on stdout and stderr, ' +
    `from the beginning; the first ${LOGS_DEFAULT} lines unless --limit says otherwise. #2 is the second attempt.\n\n` +
    'With --follow it goes on with what comes, and how far the task is, until the task has ended; it says how on stderr, and ends with 1 unless the task completed. Ctrl-C ' +
    'ends it before; the task goes on. With --json there is an object on each line: { log }, { progress }, and at last { ended } ' +
    'with the task.',
  options: {
    ...OPTIONS,
    ...PAGE_OPTIONS,
    follow: { type: 'boolean', short: 'f', about: 'Go on with what comes, until the task has ended.' },
  },
  exits: [[String(INTERRUPTED), 'With --follow: Ctrl-C came before the task had ended.']],
  examples: [
    ['gleaner tasks logs 4711', 'All of it.'],
    ['gleaner tasks logs 4711 --follow', 'And what comes.'],
    ['gleaner tasks logs 4711 --json | jq \'.items[] | select(.level == "error")\'', 'Only errors.'],
  ],
  run: ([id], values, terminal) => {
    const isJson = values.json === true
    if (values.follow === true && values.limit !== undefined)
      throw new UsageError('--follow shows all that comes', 'Leave --limit out.')
    return withOperations(values, terminal, async ({ tasks }) => {
      if (values.follow === true) return followed(tasks, id!, text(values.cursor) ?? null, isJson, terminal)
      if ((await tasks.get(id!)) === null) throw new TaskGone(id!)
      const page = await gathered(values, (part) => tasks.logs(id!, part), LOGS_DEFAULT)
      if (isJson) printJson(page, terminal)
      else {
        for (const line of page.items) terminal.print(logText(line, terminal.style))
        if (page.items.length === 0) terminal.complain('it has logged nothing')
        if (page.next !== null)
          terminal.complain(`there are more: --cursor ${page.next}, or a larger --limit`)
      }
      return 0
    })
  },
}

const attempts: Command = {
  name: 'tasks attempts',
  summary: 'Show how each attempt at a task ended.',
  operands: [ID],
  about:
    'One line for each: how it ended (completed, error, timeout, crash, permanent, cancelled; later and returned ' +
    'cost nothing; lease means that its worker was not heard of any more), how long it took, and who had it.',
  options: OPTIONS,
  examples: [['gleaner tasks attempts 4711', 'Its history.']],
  run: ([id], values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      if ((await tasks.get(id!)) === null) throw new TaskGone(id!)
      const all = await tasks.attempts(id!)
      if (values.json === true) printJson(all, terminal)
      else if (all.length === 0) terminal.print('no attempts')
      else printTable(attemptTable(all, Date.now()), terminal)
      return 0
    }),
}

const explain: Command = {
  name: 'tasks explain',
  summary: 'Say why a task does not run, and what to do.',
  operands: [ID],
  about:
    'Each condition in order, ok or no: whether it is due, its queue paused, a limit reached (and held by whom), its ' +
    'key held, whether any live worker serves its queue, has its code and its capabilities, and who holds it. Below ' +
    'what does not hold stands what to do about it.',
  options: OPTIONS,
  examples: [['gleaner tasks explain 4711', 'Why is it still queued?']],
  run: ([id], values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      const explanation = await tasks.explain(id!)
      if (values.json === true) printJson(explanation, terminal)
      else for (const line of explanationLines(explanation, terminal.style)) terminal.print(line)
      return 0
    }),
}

export const tasks: readonly Command[] = [list, show, logs, attempts, explain, ...bulkCommands]
