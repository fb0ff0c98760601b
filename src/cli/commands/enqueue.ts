import type { EnqueueOptions } from '../../define/types.ts'
import type { Duration } from '../../duration.ts'
import { GleanerError, TaskGone } from '../../errors.ts'
import { isFinished, type TaskRecord } from '../../model/task.ts'
import { namesHint } from '../../options.ts'
import {
  type Command,
  JSON_OPTION,
  type Option,
  PLACE_OPTIONS,
  text,
  type Values,
} from '../console/command.ts'
import { jsonOf } from '../console/json-operand.ts'
import { printJson } from '../console/printing.ts'
import { withProgress } from '../console/progress.ts'
import type { Terminal } from '../console/terminal.ts'
import { aCount, aDuration, countOf, durationOf } from '../console/values.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { endingText } from '../text/task.ts'

const POLL_MS = 250
const PRIORITY_MAX = 1_000
const ATTEMPTS_MAX = 1_000

const ENQUEUE_OPTIONS = {
  priority: {
    type: 'string',
    short: 'p',
    value: 'n',
    check: aCount(PRIORITY_MAX),
    about: 'From 1 (first) to 1000 (last). Default: 100.',
  },
  'run-after': {
    type: 'string',
    value: 'delay',
    check: aDuration,
    about: 'Run it after this delay: 30s, 5m, 2h.',
  },
  key: {
    type: 'string',
    value: 'key',
    about: 'A key: at most one unfinished task of this name can have it.',
  },
  queue: { type: 'string', value: 'queue', about: "Use this queue instead of the task's own." },
  attempts: {
    type: 'string',
    value: 'n',
    check: aCount(ATTEMPTS_MAX),
    about: "Use this number of attempts instead of the task's own.",
  },
  after: {
    type: 'string',
    value: 'ids',
    about: 'Run it when these tasks have completed: ids, with commas between them.',
  },
  'on-failure': {
    type: 'string',
    value: 'what',
    choices: ['fail', 'run', 'cancel'],
    about: 'With --after: what to do if one of them does not complete. Default: fail.',
  },
  timeout: {
    type: 'string',
    value: 'duration',
    check: aDuration,
    about: "Use this time-out instead of the task's own.",
  },
  wait: {
    type: 'string',
    short: 'w',
    value: 'duration',
    check: aDuration,
    about: 'Wait up to this long for the result.',
  },
} satisfies Record<string, Option>

export const enqueue: Command = {
  name: 'enqueue',
  summary: 'Enqueue a task.',
  operands: [
    { name: 'task', about: 'The name of the task.' },
    {
      name: 'json',
      about: 'The input. - reads it from stdin. Leave it out for a task without input.',
      optional: true,
    },
  ],
  about:
    'Checks the input against the schema of the task and enqueues it. When the command prints the id, the ' +
    'task is on disk. The task must be among `tasks` of the config, or, with --url, of the server. If ' +
    'another task holds the key, the command enqueues nothing and names that task. The exit code is 0.\n\nWith ' +
    '--wait it prints the result as JSON. It exits with 1 if the task failed, was cancelled, or did not ' +
    'finish in time.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION, ...ENQUEUE_OPTIONS },
  examples: [
    [`gleaner enqueue mail.send '{"to":"kim@example.com"}'`, 'Now.'],
    [
      `gleaner enqueue report.build '{"month":10}' --run-after 2h --key report:10`,
      'Enqueue it for later, and only once.',
    ],
    [
      'jq -c .order order.json | gleaner enqueue order.ship - --wait 1m',
      'Read the input from stdin, and wait for the result.',
    ],
  ],
  run: ([name, json], values, terminal) =>
    withOperations(values, terminal, async (operations) => {
      const options = optionsOf(values)
      const waitMs = durationOf('wait', values)
      const input = jsonOf(json === '-' ? await terminal.readAll() : json, 'input')
      await mustBeKnown(operations, name!)
      const { id, created } = await operations.enqueue(name!, input, options)
      if (waitMs !== undefined) {
        terminal.complain(toldOf(name!, id, created))
        return waited(operations, id, waitMs, terminal)
      }
      if (values.json === true) printJson({ id, created }, terminal)
      else terminal.print(toldOf(name!, id, created))
      return 0
    }),
}

function toldOf(name: string, id: string, created: boolean): string {
  return created ? `enqueued ${name} as task ${id}` : `task ${id} holds the key: nothing was enqueued`
}

function optionsOf(values: Values): EnqueueOptions {
  const { 'run-after': runAfter, key, queue, timeout, after } = values
  const attempts = countOf('attempts', values)
  const given = {
    priority: countOf('priority', values),
    runAfter: text(runAfter) as Duration | undefined,
    key: text(key),
    queue: text(queue),
    timeout: text(timeout) as Duration | undefined,
    retry: attempts === undefined ? undefined : { attempts },
    after: text(after)
      ?.split(',')
      .filter((id) => id !== ''),
    onFailure: text(values['on-failure']) as EnqueueOptions['onFailure'],
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

async function mustBeKnown(operations: Operations, name: string): Promise<void> {
  const names = await operations.enqueuable()
  if (names.includes(name)) return
  throw new GleanerError(`there is no task ${name}`, {
    code: 'UNKNOWN_TASK',
    hint: namesHint(name, names),
  })
}

async function waited(
  { tasks }: Operations,
  id: string,
  waitMs: number,
  terminal: Terminal,
): Promise<number> {
  const until = performance.now() + waitMs
  const task = await withProgress(terminal, 'waiting', async (tell) => {
    for (;;) {
      const now = await tasks.get(id)
      if (now === null) throw new TaskGone(id)
      if (isFinished(now.status) || performance.now() >= until) return now
      tell({ fraction: now.progress?.fraction ?? null, detail: now.progress?.message ?? now.status })
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  })
  return ended(task, terminal)
}

function ended(task: TaskRecord, terminal: Terminal): number {
  const { id, status, result } = task
  if (status === 'completed') {
    printJson(result ?? null, terminal)
    return 0
  }
  terminal.complain(
    isFinished(status) ? endingText(task) : `task ${id} is still ${status}; the task continues`,
  )
  return 1
}
