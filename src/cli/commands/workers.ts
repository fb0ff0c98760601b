import { InputError } from '../../errors.ts'
import type { WorkerRecord } from '../../model/worker.ts'
import { nearest } from '../../options.ts'
import { type Command, JSON_OPTION, PLACE_OPTIONS } from '../command.ts'
import { withOperations } from '../operations/open.ts'
import { printJson, printTable } from '../printing.ts'
import { isSupervised } from '../text/overview.ts'
import { bytes, columns } from '../words.ts'

const list: Command = {
  name: 'workers list',
  summary: 'List workers of all processes and hosts.',
  operands: [],
  about:
    'Every worker with what it is at: those under a supervisor as it last reported them, and those that run inside ' +
    'a program, of which nothing more is known than that they are there.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner workers', 'The list.'],
    ["gleaner workers --json | jq -r '.[].pid'", 'Their processes.'],
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
    summary: 'Let workers claim nothing more.',
    about: 'What runs is finished, nothing more is claimed; the processes stay.',
    example: 'gleaner workers pause worker:ml:0',
    why: 'One of them, e.g. to give its GPU to somebody else.',
    done: 'paused',
  },
  resume: {
    summary: 'Let workers claim again; those given up get another chance.',
    about:
      'They go on. Those that their supervisor has given up are started anew, and their crashes are forgotten.',
    example: 'gleaner workers resume',
    why: 'All of them.',
    done: 'resumed',
  },
  restart: {
    summary: 'Replace worker processes, without a gap.',
    about:
      'A rolling restart: the new process is ready before the old one leaves, one worker after the other, and no ' +
      'item is lost or charged for it.',
    example: 'gleaner workers restart',
    why: 'All of them, one by one, e.g. after a deploy.',
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
      operands: [{ name: 'worker', about: 'Its id; without one: all of them.', optional: true }],
      about: `${about}\n\nIt reaches the supervisors within two seconds, on whatever machine they run.`,
      options: { ...PLACE_OPTIONS, json: JSON_OPTION },
      examples: [[example, why]],
      run: ([worker], values, terminal) =>
        withOperations(values, terminal, async (operations) => {
          mustBeSupervised(worker, await operations.workers.list())
          await operations.workers[verb](worker)
          if (values.json === true) printJson({ worker: worker ?? null, told: verb }, terminal)
          else
            terminal.print(
              `${worker ?? 'all workers'} will be ${done}: the supervisor${worker ? '' : 's'} will see to it`,
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
    throw new InputError('no supervisor has any worker here', {
      code: 'UNKNOWN_WORKER',
      hint: 'gleaner start runs one. A worker inside a program is steered by that program, or with gleaner pause.',
    })
  const meant = nearest(worker, ids)
  throw new InputError(`there is no supervised worker ${worker}`, {
    code: 'UNKNOWN_WORKER',
    hint: meant === undefined ? `There are: ${ids.join(', ')}.` : `Did you mean ${meant}?`,
  })
}

function listed(workers: readonly WorkerRecord[]): string[] {
  return columns(
    ['worker', 'status', 'health', 'phase', 'pid', 'host', 'memory', 'restarts'],
    workers.map((worker) => [
      worker.id,
      worker.status,
      isSupervised(worker) ? worker.health : 'no supervisor',
      worker.phase ?? '-',
      worker.pid === null ? '-' : String(worker.pid),
      worker.host,
      worker.rss === null ? '-' : bytes(worker.rss),
      isSupervised(worker) ? String(worker.restarts.total) : '-',
    ]),
  )
}
