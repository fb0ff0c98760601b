import { checkName } from '../../define/names.ts'
import { nearest } from '../../options.ts'
import { type Command, JSON_OPTION, type Operand, PLACE_OPTIONS, type Values } from '../console/command.ts'
import { printJson } from '../console/printing.ts'
import type { Terminal } from '../console/terminal.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'

const QUEUE: Operand = { name: 'queue', about: 'A queue. Default: everything.', optional: true }

export const pause: Command = {
  name: 'pause',
  summary: 'Stop claiming work: from a queue, or everywhere.',
  operands: [QUEUE],
  about:
    'No process on any machine claims from the queue any more. Without a queue, no process claims anything. ' +
    'Running items continue, and worker processes stay alive. The pause lasts, also over restarts, until ' +
    '`gleaner resume`.\n\nTo pause one worker, use `gleaner workers pause <id>`. To pause a discovery, use ' +
    '`gleaner discoveries pause <name>`.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner pause', 'Pause everything, for example before maintenance.'],
    ['gleaner pause mail', 'Pause the queue mail.'],
  ],
  run: ([queue], values, terminal) => setPaused(queue, true, values, terminal),
}

export const resume: Command = {
  name: 'resume',
  summary: 'End a pause, and start workers again that were given up.',
  operands: [QUEUE],
  about:
    'Ends what `gleaner pause` began, for the queue or for everything. A queue that was paused by name stays ' +
    'paused until you resume it by name. A worker that was paused by its id stays paused until `gleaner ' +
    'workers resume`.\n\nWithout a queue it also starts workers again that their supervisor has given up, and ' +
    'forgets their crashes.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner resume', 'Resume everything.'],
    ['gleaner resume mail', 'Resume the queue mail.'],
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
        `${queue === undefined ? 'everything' : `queue ${queue}`} is ${paused ? 'paused' : 'resumed'}`,
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
    `note: the queue ${queue} has never had a task${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  )
}
