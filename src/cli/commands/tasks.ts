import { TaskGone } from '../../errors.ts'
import {
  type Command,
  JSON_OPTION,
  type Operand,
  PLACE_OPTIONS,
  text,
  UsageError,
} from '../console/command.ts'
import { gathered, PAGE_OPTIONS } from '../console/paging.ts'
import { printJson, printTable } from '../console/printing.ts'
import { FILTER_OPTIONS, filterOf } from '../console/task-filter.ts'
import { withOperations } from '../operations/open.ts'
import { attemptTable, explanationLines, logText, stepTable, taskLines, taskTable } from '../text/task.ts'
import { treeLines } from '../text/tree.ts'
import { followed, INTERRUPTED } from './following.ts'
import { bulkCommands } from './tasks-bulk.ts'

const ID: Operand = { name: 'id', about: 'The id of a task, as `gleaner tasks list` shows it.' }
const OPTIONS = { ...PLACE_OPTIONS, json: JSON_OPTION }
const LOGS_DEFAULT = 1_000

const list: Command = {
  name: 'tasks list',
  summary: 'List tasks, of any status, queue, name, age or error.',
  operands: [],
  about:
    'Without --status the newest tasks come first. Queued tasks are listed in the order in which they will ' +
    'run, scheduled tasks by the time when they are due, and finished tasks by the time when they finished, ' +
    'the newest first. If you pass several filters, a task must match all of them.\n\nWith --json it prints { ' +
    'items, next } with full records. Pass next as --cursor to get the following tasks.',
  options: { ...OPTIONS, ...FILTER_OPTIONS, ...PAGE_OPTIONS },
  examples: [
    ['gleaner tasks', 'List the newest tasks.'],
    ['gleaner tasks --status failed --queue mail -n 10', 'List the last ten failures in this queue.'],
    ['gleaner tasks list --error ECONNREFUSED --finished-after 2h', 'List recent failures with this error.'],
    ['gleaner tasks list --running-longer-than 10m', 'List what has run for more than ten minutes.'],
    ["gleaner tasks --status running --json | jq -r '.items[].id'", 'Print ids, for a script.'],
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
          terminal.complain(`there are more: pass --cursor ${page.next}, or a larger --limit`)
      }
      return 0
    }),
}

const show: Command = {
  name: 'tasks show',
  summary: 'Show a task: input, result, error, attempts.',
  operands: [ID],
  about:
    'Shows the whole record, the error with the place in the code where it was thrown, and how each attempt ' +
    'ended. With --json it prints only the record, as the library and the HTTP API return it. `gleaner tasks ' +
    'attempts` prints the attempts.\n\nThe fields that `server.redact` in the config names are hidden, as over ' +
    'HTTP.',
  options: OPTIONS,
  examples: [
    ['gleaner tasks show 4711', 'Show the task.'],
    ['gleaner tasks show 4711 --json | jq .result', 'Print its result.'],
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
  summary: 'Show the log lines of a task, of all its attempts.',
  operands: [ID],
  about:
    'Shows the lines that the handler wrote with ctx.log, the oldest first. For a program in another ' +
    'language it shows what the program wrote to stdout and stderr. Without --limit it prints the first ' +
    `${LOGS_DEFAULT} lines. #2 marks the second attempt.\n\nWith --follow it prints new lines and the progress ` +
    'until the task ends, and then says on stderr how it ended. It exits with 0 only if the task completed. ' +
    'Ctrl-C ends the command, not the task. With --json each line is an object: { log }, { progress }, and ' +
    'at last { ended } with the task.',
  options: {
    ...OPTIONS,
    ...PAGE_OPTIONS,
    follow: { type: 'boolean', short: 'f', about: 'Print new lines until the task ends.' },
  },
  exits: [[String(INTERRUPTED), 'With --follow: you pressed Ctrl-C before the task ended.']],
  examples: [
    ['gleaner tasks logs 4711', 'Print all lines.'],
    ['gleaner tasks logs 4711 --follow', 'Print all lines, and new ones as they come.'],
    ['gleaner tasks logs 4711 --json | jq \'.items[] | select(.level == "error")\'', 'Print only errors.'],
  ],
  run: ([id], values, terminal) => {
    const isJson = values.json === true
    if (values.follow === true && values.limit !== undefined)
      throw new UsageError('--follow prints all lines, so it takes no --limit', 'Leave out --limit.')
    return withOperations(values, terminal, async ({ tasks }) => {
      if (values.follow === true)
        return followed({ tasks, id: id!, from: text(values.cursor) ?? null }, isJson, terminal)
      if ((await tasks.get(id!)) === null) throw new TaskGone(id!)
      const page = await gathered(values, (part) => tasks.logs(id!, part), LOGS_DEFAULT)
      if (isJson) printJson(page, terminal)
      else {
        for (const line of page.items) terminal.print(logText(line, terminal.style))
        if (page.items.length === 0) terminal.complain('no log lines')
        if (page.next !== null)
          terminal.complain(`there are more: pass --cursor ${page.next}, or a larger --limit`)
      }
      return 0
    })
  },
}

const attempts: Command = {
  name: 'tasks attempts',
  summary: 'Show how each attempt of a task ended.',
  operands: [ID],
  about:
    'Prints one line for each attempt: how it ended, how long it took, and which worker ran it. It ended ' +
    'with completed, error, timeout, crash, permanent, cancelled, lease (the worker stopped renewing its ' +
    'lease), or with later, suspended or returned, which cost no attempt.',
  options: OPTIONS,
  examples: [['gleaner tasks attempts 4711', 'Print the attempts of this task.']],
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

const steps: Command = {
  name: 'tasks steps',
  summary: 'Show what the steps of a task kept.',
  operands: [ID],
  about:
    'Prints one line for each step: its name, and whether it is done (result), a loop that is not over ' +
    '(cursor), a sleep, or a wait for a signal (wait, then signal or timeout). A signal that no step has taken is ' +
    'listed as sent. The next attempt continues behind the steps that are done.',
  options: OPTIONS,
  examples: [['gleaner tasks steps 4711', 'Print the steps of this task.']],
  run: ([id], values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      if ((await tasks.get(id!)) === null) throw new TaskGone(id!)
      const all = await tasks.steps(id!)
      if (values.json === true) printJson(all, terminal)
      else if (all.length === 0) terminal.print('no steps')
      else printTable(stepTable(all, Date.now()), terminal)
      return 0
    }),
}

const tree: Command = {
  name: 'tasks tree',
  summary: 'Show a task with its children, and how far they are.',
  operands: [ID],
  about:
    'Prints the task, below it the tasks that it waits for or waited for (children of ctx.run and ctx.all, and ' +
    'the tasks of `after`), below them theirs, and so on: 200 tasks at most, the nearest first. `tasks list ' +
    '--parent` lists all children of one task.',
  options: OPTIONS,
  examples: [['gleaner tasks tree 4711', 'Print the tree of this task.']],
  run: ([id], values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      const found = await tasks.tree(id!)
      if (values.json === true) printJson(found, terminal)
      else for (const line of treeLines(found)) terminal.print(line)
      return 0
    }),
}

const explain: Command = {
  name: 'tasks explain',
  summary: 'Say why a task does not run, and what to do.',
  operands: [ID],
  about:
    'Checks each condition in order and prints ok or no. The task must be due, and its queue must not be ' +
    'paused. No limit may be reached, and no other task may hold its key. A live worker must serve its ' +
    'queue, have its code and its capabilities, and no worker may hold the task already. The line below a ' +
    'failed condition says what to do.',
  options: OPTIONS,
  examples: [['gleaner tasks explain 4711', 'Find out why this task is still queued.']],
  run: ([id], values, terminal) =>
    withOperations(values, terminal, async ({ tasks }) => {
      const explanation = await tasks.explain(id!)
      if (values.json === true) printJson(explanation, terminal)
      else for (const line of explanationLines(explanation, terminal.style)) terminal.print(line)
      return 0
    }),
}

export const tasks: readonly Command[] = [list, show, logs, attempts, steps, tree, explain, ...bulkCommands]
