import type { QueueRecord } from '../../model/queue.ts'
import { type Command, JSON_OPTION, PLACE_OPTIONS } from '../console/command.ts'
import { printJson, printTable } from '../console/printing.ts'
import { columns, durationText } from '../console/words.ts'
import { withOperations } from '../operations/open.ts'

const list: Command = {
  name: 'queues list',
  summary: 'List queues, with the number of tasks in each status.',
  operands: [],
  about:
    'Lists every queue that ever had a task, with its strategy, exact counts, and whether it is paused.\n\nTo ' +
    'pause a queue, use `gleaner pause <queue>`. To end the pause, use `gleaner resume <queue>`.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner queues', 'List all queues.'],
    ["gleaner queues --json | jq '.[] | select(.paused) | .name'", 'Print the paused queues.'],
  ],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async ({ queues }) => {
      const all = await queues.list()
      if (values.json === true) printJson(all, terminal)
      else if (all.length === 0) terminal.print('no queues')
      else printTable(listed(all), terminal)
      return 0
    }),
}

export const queues: readonly Command[] = [list]

const COUNTS = ['queued', 'running', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled'] as const

function listed(queues: readonly QueueRecord[]): string[] {
  return columns(
    ['queue', 'strategy', ...COUNTS, ''],
    queues.map((queue) => [
      queue.name,
      strategyOf(queue),
      ...COUNTS.map((status) => String(queue[status])),
      queue.paused ? 'paused' : '',
    ]),
  )
}

/** The stored one, and what live workers chose instead. */
function strategyOf({ strategy, ageingMs, chosen }: QueueRecord): string {
  const stored = ageingMs === null ? strategy : `${strategy}, ageing ${durationText(ageingMs)}`
  const others = [...new Set(chosen.map((one) => one.strategy))]
  return others.length === 0 ? stored : `${stored} (workers: ${others.join(', ')})`
}
