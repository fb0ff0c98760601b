import { checkName } from '../../define/names.ts'
import { nearest } from '../../options.ts'
import { type Command, JSON_OPTION, type Operand, PLACE_OPTIONS, type Values } from '../command.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { printJson } from '../printing.ts'
import type { Terminal } from '../terminal.ts'

const QUEUE: Operand = { name: 'queue', about: 'A queue; without one: everything.', optional: true }

export const pause: Command = {
  name: 'pause',
  summary: 'Stop taking work: from a queue, or everywhere.',
  operands: [QUEUE],
  about:
    'Nothing more is claimed from the queue, by any process on any machine; without a queue, from none at all. What ' +
    'runs is finished, worker processes stay alive. It is remembered until `gleaner resume`, also over restarts.\n\n' +
    'To pause a single worker, use `gleaner workers pause <id>`; a discovery, `gleaner discoveries pause <name>`.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner pause', 'Everything, e.g. before maintenance.'],
    ['gleaner pause mail', 'The queue mail.'],
  ],
  run: ([queue], values, terminal) => setPaused(queue, true, values, terminal),
}

export const resume: Command = {
  name: 'resume',
  summary: 'Take work again, with workers that were given up.',
  operands: [QUEUE],
  about:
    'Ends what `gleaner pause` began, for the queue, or without a queue for everything: a queue that was paused by ' +
    'name stays paused until it is resumed by name, and a worker that was paused by its id until `gleaner workers resume`.\n\n' +
    'Without a queue it also starts workers again that their supervisor has given up, and forgets their crashes.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner resume', 'Everything.'],
    ['gleaner resume mail', 'The queue mail.'],
  ],
  run: ([queue], values, terminal) => setPaused(queue, false, values, terminal),
}

function setPaused(
  queue: string | undefined,
  paused: boolean,
  values: Values,
  terminal: Terminal,
): Promise<number> {
  return withOperations(values, terminal, async (operations) => {
    const verb = paused ? 'pause' : 'resume'
    if (queue === undefined) await operations[verb]()
    else {
      await noteUnknown(operations, queue, terminal)
      await operations.queues[verb](queue)
    }
    if (values.json === true) printJson({ queue: queue ?? null, paused }, terminal)
    else
      terminal.print(
        `${queue === undefined ? 'everything' : `queue ${queue}`} ${paused ? 'is paused' : 'goes on'}`,
      )
    return 0
  })
}

/** A queue may be paused before anything was ever in it; but more often it is a typing error. */
async function noteUnknown(operations: Operations, queue: string, terminal: Terminal): Promise<void> {
  checkName(queue, 'queue', 'BAD_QUEUE')
  const known = (await operations.queues.list()).map(({ name }) => name)
  if (known.includes(queue)) return
  const meant = nearest(queue, known)
  terminal.complain(
    `note: nothing was ever in a queue ${queue}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  )
}
