import { InputError } from '../../errors.ts'
import type { WorkerRecord } from '../../model/worker.ts'
import { namesHint } from '../../options.ts'
import { type Command, JSON_OPTION, PLACE_OPTIONS } from '../console/command.ts'
import { printJson, printTable } from '../console/printing.ts'
import { bytes, columns } from '../console/words.ts'
import { withOperations } from '../operations/open.ts'
import { isSupervised } from '../text/overview.ts'

const list: Command = {
  name: 'workers list',
  summary: 'List workers of all processes and hosts.',
  operands: [],
  about:
    'Lists all workers and what they do. A supervised worker is shown as its supervisor last reported it, and a worker ' +
    'inside a program of yours as it last reported itself (some seconds ago). `looks` is how often a worker asked for items, ' +
    '`conflicts` how many of them another worker claimed first. --json also shows what the program of a `command` pool ' +
    'reports about itself.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner workers', 'List all workers.'],
    ["gleaner workers --json | jq -r '.[].pid'", 'Print the process ids.'],
  ],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async (operations) => {
      const workers = await operations.workers.list()
      if (values.json === true) printJson(workers, terminal)
      else if (workers.length === 0) terminal.print('no workers')
      else printTable(listed(workers), terminal)
      return 0
    }),
}

const WORDS = {
  pause: {
    summary: 'Pause workers: they claim nothing more.',
    about: 'The workers finish running items and claim nothing more. The processes stay alive.',
    example: 'gleaner workers pause worker:ml:0',
    why: 'Pause one worker, for example to use its GPU for something else.',
    done: 'paused',
  },
  resume: {
    summary: 'Resume workers, and start workers again that were given up.',
    about:
      'The workers claim again. If a supervisor has given up a worker, it starts the worker again and forgets its crashes.',
    example: 'gleaner workers resume',
    why: 'Resume all workers.',
    done: 'resumed',
  },
  restart: {
    summary: 'Replace worker processes without a gap.',
    about:
      'Replaces the processes one after the other. Each new process is ready before the old one stops. No item is lost or ' +
      'charged.',
    example: 'gleaner workers restart',
    why: 'Restart all workers, for example after a deploy.',
    done: 'restarted',
  },
} as const

const VERBS = ['pause', 'resume', 'restart'] as const

export const workers: readonly Command[] = [
  list,
  ...VERBS.map((verb): Command => {
    const { summary, about, example, why, done } = WORDS[verb]
    return {
      name: `workers ${verb}`,
      summary,
      operands: [{ name: 'worker', about: 'The id of a worker. Default: all workers.', optional: true }],
      about: `${about}\n\nThe supervisors react within two seconds, on any machine.`,
      options: { ...PLACE_OPTIONS, json: JSON_OPTION },
      examples: [[example, why]],
      run: ([worker], values, terminal) =>
        withOperations(values, terminal, async (operations) => {
          mustBeSupervised(worker, await operations.workers.list())
          await operations.workers[verb](worker)
          if (values.json === true) printJson({ worker: worker ?? null, told: verb }, terminal)
          else
            terminal.print(
              `${worker ?? 'all workers'} will be ${done} by the supervisor${worker ? '' : 's'} within two seconds`,
            )
          return 0
        }),
    }
  }),
]

function mustBeSupervised(worker: string | undefined, workers: readonly WorkerRecord[]): void {
  const ids = workers.filter(isSupervised).map(({ id }) => id)
  if (worker === undefined ? ids.length > 0 : ids.includes(worker)) return
  if (worker === undefined || ids.length === 0)
    throw new InputError('no supervised worker uses this database', {
      code: 'UNKNOWN_WORKER',
      hint: 'Start one with `gleaner start`. A worker inside a program of yours can only be paused by that program, or with `gleaner pause`.',
    })
  throw new InputError(`there is no supervised worker ${worker}`, {
    code: 'UNKNOWN_WORKER',
    hint: namesHint(worker, ids),
  })
}

const COUNTERS_SHOWN = [
  'processed',
  'files_processed',
  'discovery_attempts',
  'claim_conflicts',
  'consecutive_errors',
] as const
const COUNTER_WORDS = ['processed', 'rows', 'looks', 'conflicts', 'errors in a row']

function listed(workers: readonly WorkerRecord[]): string[] {
  return columns(
    ['worker', 'status', 'health', 'phase', 'pid', 'host', 'memory', 'restarts', ...COUNTER_WORDS],
    workers.map((worker) => [
      worker.id,
      worker.status,
      worker.health,
      worker.phase ?? '-',
      worker.pid === null ? '-' : String(worker.pid),
      worker.host,
      worker.rss === null ? '-' : bytes(worker.rss),
      isSupervised(worker) ? String(worker.restarts.total) : '-',
      ...COUNTERS_SHOWN.map((name) => String(worker.counters?.[name] ?? '-')),
    ]),
  )
}
