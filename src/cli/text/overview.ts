import type { WorkerRecord } from '../../model/worker.ts'
import type { Terminal } from '../console/terminal.ts'
import { bytes, columns, cut, durationText, plural } from '../console/words.ts'
import type { Overview } from '../operations/contract.ts'

type Style = Terminal['style']
type Colour = 'green' | 'yellow' | 'red'

/** What a line is about, where something can be done with it. */
export interface Target {
  kind: 'everything' | 'worker' | 'queue' | 'discovery'
  name: string
}

export interface Line {
  text: string
  colour?: Colour | 'dim' | 'bold'
  target?: Target
}

/** What people read of it. */
export function overviewLines(overview: Overview, width: number): Line[] {
  const lines: Line[] = [
    { text: `Gleaner on ${overview.place}`, colour: 'bold', target: { kind: 'everything', name: '' } },
    ...supervisorLines(overview),
    ...pauseLines(overview),
    { text: '' },
    ...alertLines(overview),
    ...workerLines(overview),
    ...componentLines(overview),
    ...queueLines(overview),
    ...discoveryLines(overview),
  ]
  return lines.slice(0, -1).map((line) => ({ ...line, text: cut(line.text, width) }))
}

export function coloured({ text, colour }: Line, style: Style): string {
  return colour === undefined ? text : style(colour, text)
}

function supervisorLines({ supervisors, asOf }: Overview): Line[] {
  if (supervisors.length === 0) return [{ text: 'no supervisor has used this database yet' }]
  return supervisors.map(({ name, host, pid, since, running }) =>
    running
      ? { text: `supervisor ${name}: pid ${pid} on ${host}, for ${durationText(Math.max(0, asOf - since))}` }
      : { text: `supervisor ${name} is not running (it was pid ${pid} on ${host})`, colour: 'yellow' },
  )
}

function pauseLines({ paused }: Overview): Line[] {
  if (!paused) return []
  return [
    {
      text: 'everything is paused: no worker claims anything. `gleaner resume` ends the pause.',
      colour: 'yellow',
    },
  ]
}

const COLOUR_OF_HEALTH = { pending: 'yellow', healthy: undefined, unhealthy: 'red', failed: 'red' } as const

function workerLines({ workers, asOf }: Overview): Line[] {
  if (workers.length === 0) return [{ text: 'no workers' }, { text: '' }]
  const head = ['worker', 'status', 'health', 'pid', 'memory', 'restarts', 'now']
  const cells = workers.map((worker) =>
    isSupervised(worker)
      ? [
          worker.id,
          worker.status,
          worker.health,
          worker.pid === null ? '-' : String(worker.pid),
          worker.rss === null ? '-' : bytes(worker.rss),
          String(worker.restarts.total),
          nowOf(worker, asOf),
        ]
      : [
          worker.id,
          'running',
          worker.health,
          String(worker.pid),
          '-',
          '-',
          `${nowOf(worker, asOf)} (no supervisor)`,
        ],
  )
  return table(head, cells, (i) => ({
    colour: COLOUR_OF_HEALTH[workers[i]!.health],
    target: isSupervised(workers[i]!) ? { kind: 'worker', name: workers[i]!.id } : undefined,
  })).flatMap((line, i, all) => (i === all.length - 1 ? [...reasons(workers), line] : [line]))
}

function componentLines({ components, asOf }: Overview): Line[] {
  if (components.length === 0) return []
  const head = ['component', 'health', 'for', 'now']
  const cells = components.map(({ id, status, since, item, lost }) => [
    id,
    status,
    durationText(Math.max(0, asOf - since)),
    lost ? 'no longer reported: its process has ended or hangs' : (item ?? '-'),
  ])
  return table(head, cells, (i) => ({ colour: COLOUR_OF_HEALTH[components[i]!.status] }))
}

/** Of a worker inside a program only that program knows more, and only it can steer it. */
export function isSupervised({ pool }: WorkerRecord): boolean {
  return pool !== ''
}

function nowOf({ current, phase, status, program }: WorkerRecord, asOf: number): string {
  const [first, ...others] = current
  if (first === undefined) return program?.currentJob ?? phase ?? status
  const doing = phase === null || phase === 'processing' ? '' : `${phase}, `
  return `${doing}${first.item} for ${durationText(Math.max(0, asOf - first.since))}${others.length > 0 ? ` and ${others.length} more` : ''}`
}

/** Why a worker was given up, is not there, or backs off. */
function reasons(workers: readonly WorkerRecord[]): Line[] {
  const backingOff = workers.flatMap(({ id, reason }): Line[] =>
    reason === null ? [] : [{ text: `  ${id} backs off: ${reason}`, colour: 'yellow' }],
  )
  return [...backingOff, ...exits(workers)]
}

function exits(workers: readonly WorkerRecord[]): Line[] {
  return workers
    .filter(
      ({ status, lastExit }) => ['failed', 'backing-off', 'crashed'].includes(status) && lastExit !== null,
    )
    .map(({ id, status, lastExit }) => {
      const isOver = status === 'failed'
      const exit = lastExit!.signal ?? `exit code ${lastExit!.code}`
      const words = isOver ? 'was given up' : 'is down and will restart'
      const again = isOver ? '. Fix the cause, then run `gleaner resume`.' : ''
      return {
        text: `  ${id} ${words}: ${lastExit!.reason} (${exit})${again}`,
        colour: isOver ? 'red' : 'yellow',
      }
    })
}

const QUEUE_COUNTS = [
  'queued',
  'running',
  'scheduled',
  'suspended',
  'completed',
  'failed',
  'cancelled',
] as const

function queueLines({ queues }: Overview): Line[] {
  if (queues.length === 0) return [{ text: 'no queues' }, { text: '' }]
  const head = ['queue', ...QUEUE_COUNTS, '']
  const cells = queues.map((queue) => [
    queue.name,
    ...QUEUE_COUNTS.map((status) => String(queue[status])),
    queue.paused ? 'paused' : '',
  ])
  return table(head, cells, (i) => ({
    colour: queues[i]!.paused ? 'yellow' : undefined,
    target: { kind: 'queue', name: queues[i]!.name },
  }))
}

function discoveryLines({ discoveries }: Overview): Line[] {
  if (discoveries.length === 0) return []
  const head = ['discovery', 'waiting', 'claimed', 'suspended', 'backing off', 'quarantined', '']
  const cells = discoveries.map(
    ({ name, waiting, claimed, suspended, backingOff, quarantined, paused, pausedReason }) => [
      name,
      ...[waiting, claimed, suspended, backingOff, quarantined].map((count) =>
        count === null ? '-' : String(count),
      ),
      paused ? `paused${pausedReason === null ? '' : `: ${pausedReason}`}` : '',
    ],
  )
  return table(head, cells, (i) => ({
    colour: discoveries[i]!.paused ? 'yellow' : undefined,
    target: { kind: 'discovery', name: discoveries[i]!.name },
  }))
}

function alertLines({ alerts }: Overview): Line[] {
  if (alerts.length === 0) return [{ text: 'no alerts', colour: 'green' }, { text: '' }]
  return [
    { text: plural(alerts.length, 'alert'), colour: 'red' },
    ...alerts.flatMap(({ message, fix }): Line[] => [
      { text: `  ${message}`, colour: 'red' },
      { text: `    ${fix}` },
    ]),
    { text: '' },
  ]
}

function table(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  about: (index: number) => Omit<Line, 'text'>,
): Line[] {
  const [title, ...lines] = columns(head, cells)
  return [{ text: title!, colour: 'dim' }, ...lines.map((text, i) => ({ text, ...about(i) })), { text: '' }]
}
