import type { Config } from '../../config/types.ts'
import { checkName } from '../../define/names.ts'
import { definitionOf } from '../../define/task.ts'
import type { Store } from '../../store/contract.ts'
import { CONFIG_OPTION, type Command, JSON_OPTION } from '../command.ts'
import { withStore } from '../opening.ts'
import { nearest } from '../suggest.ts'
import type { Terminal } from '../terminal.ts'

export const pause: Command = {
  name: 'pause',
  summary: 'Stop taking work: from a queue, or everywhere.',
  operands: '[queue]',
  operandsMax: 1,
  about:
    'Nothing more is claimed from the queue, by any process on any machine; without a queue, from none at all. What ' +
    'runs is finished, worker processes stay alive. It is remembered until `gleaner resume`, also over restarts.\n\n' +
    'To pause a single worker, use `gleaner workers pause <id>`.',
  options: { config: CONFIG_OPTION, json: JSON_OPTION },
  examples: [
    ['gleaner pause', 'Everything, e.g. before maintenance.'],
    ['gleaner pause mail', 'The queue mail.'],
  ],
  run: ([queue], values, terminal) => setPaused(queue, true, values.json === true, terminal, values),
}

export const resume: Command = {
  name: 'resume',
  summary: 'Take work again, with workers that were given up.',
  operands: '[queue]',
  operandsMax: 1,
  about:
    'Ends what `gleaner pause` began, for the queue, or without a queue for everything: a queue that was paused by ' +
    'name stays paused until it is resumed by name.\n\n' +
    'Without a queue it also starts those workers anew that their supervisor has given up, and forgets their crashes.',
  options: { config: CONFIG_OPTION, json: JSON_OPTION },
  examples: [
    ['gleaner resume', 'Everything.'],
    ['gleaner resume mail', 'The queue mail.'],
  ],
  run: ([queue], values, terminal) => setPaused(queue, false, values.json === true, terminal, values),
}

function setPaused(
  queue: string | undefined,
  paused: boolean,
  json: boolean,
  terminal: Terminal,
  values: Parameters<Command['run']>[1],
): Promise<number> {
  return withStore(values, terminal, async (store, config) => {
    if (queue !== undefined) await noteUnknown(store, config, queue, terminal)
    await store.setPaused(queue ?? null, paused)
    if (queue === undefined) await tellSupervisors(store, paused)
    if (json) terminal.print(JSON.stringify({ queue: queue ?? null, paused }))
    else
      terminal.print(
        `${queue === undefined ? 'everything' : `queue ${queue}`} ${paused ? 'is paused' : 'goes on'}`,
      )
    return 0
  })
}

/** So that their workers show it, and those that were given up come back. */
async function tellSupervisors(store: Store, paused: boolean): Promise<void> {
  await store.command({ action: paused ? 'pause' : 'resume', worker: null, supervisor: null })
}

/** A queue may be paused before anything was ever in it; but more often it is a typing error. */
async function noteUnknown(store: Store, config: Config, queue: string, terminal: Terminal): Promise<void> {
  checkName(queue, 'queue', 'BAD_QUEUE')
  const known = new Set([
    ...(await store.listQueues()).map(({ name }) => name),
    ...Object.keys(config.engine.queues ?? {}),
    ...(config.engine.tasks ?? []).map((task) => definitionOf(task).queue),
    ...config.pools.flatMap(({ queues }) => queues ?? []),
  ])
  if (known.has(queue)) return
  const meant = nearest(queue, [...known])
  terminal.complain(
    `note: nothing was ever in a queue ${queue}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  )
}
