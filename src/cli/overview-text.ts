import type { WorkerRecord } from '../model/worker.ts'
import type { Overview } from './overview.ts'
import type { Terminal } from './terminal.ts'
import { bytes, columns, cut, duration, plural } from './words.ts'

type Style = Terminal['style']

const COLOUR_OF_HEALTH = { pending: 'yellow', healthy: 'green', unhealthy: 'red', failed: 'red' } as const

/** What people read of it. */
export function overviewLines(overview: Overview, style: Style, width: number): string[] {
  return [
    `${style('bold', 'Gleaner')} on ${overview.database}`,
    ...supervisorLines(overview, style),
    '',
    ...workerLines(overview, style, width),
    ...queueLines(overview, style),
    ...discoveryLines(overview, style),
    ...alertLines(overview, style, width),
  ]
}

function supervisorLines({ supervisors, asOf }: Overview, style: Style): string[] {
  if (supervisors.length === 0) return ['no supervisor was ever started here']
  return supervisors.map(({ name, host, pid, since, running }) =>
    running
      ? `supervisor ${name}: pid ${pid} on ${host}, for ${duration(asOf - since)}`
      : style('yellow', `supervisor ${name} is not running (it was pid ${pid} on ${host})`),
  )
}

function workerLines(overview: Overview, style: Style, width: number): string[] {
  const { workers, unsupervised, asOf } = overview
  if (workers.length + unsupervised.length === 0) return ['no workers', '']
  const head = ['worker', 'status', 'health', 'pid', 'memory', 'restarts', 'now']
  const [title, ...lines] = columns(head, [
    ...workers.map((worker) => [
      worker.id,
      worker.status,
      worker.health,
      worker.pid === null ? '-' : String(worker.pid),
      worker.rss === null ? '-' : bytes(worker.rss),
      String(worker.restarts.total),
      nowOf(worker, asOf),
    ]),
    ...unsupervised.map(({ worker, process }) => [
      worker,
      'running',
      '-',
      String(process.pid),
      '-',
      '-',
      'no supervisor',
    ]),
  ])
  const coloured = lines.map((line, i) => {
    const health = workers[i]?.health
    const shown = cut(line, width)
    return health === undefined || health === 'healthy' ? shown : style(COLOUR_OF_HEALTH[health], shown)
  })
  return [style('dim', cut(title!, width)), ...coloured, ...reasons(workers, style), '']
}

function nowOf({ current, phase, status }: WorkerRecord, asOf: number): string {
  const [first, ...others] = current
  if (first === undefined) return phase ?? status
  return `${first.item} for ${duration(Math.max(0, asOf - first.since))}${others.length > 0 ? ` and ${others.length} more` : ''}`
}

/** Why a worker was given up, or is not there. */
function reasons(workers: readonly WorkerRecord[], style: Style): string[] {
  return workers
    .filter(
      ({ status, lastExit }) => ['failed', 'backing-off', 'crashed'].includes(status) && lastExit !== null,
    )
    .map(({ id, status, lastExit }) => {
      const words = status === 'failed' ? 'was given up' : 'is down for the moment'
      const exit = lastExit!.signal ?? `exit code ${lastExit!.code}`
      const again = status === 'failed' ? ' `gleaner resume` gives it another chance.' : ''
      return style(
        status === 'failed' ? 'red' : 'yellow',
        `  ${id} ${words}: ${lastExit!.reason} (${exit})${again}`,
      )
    })
}

function queueLines({ queues }: Overview, style: Style): string[] {
  if (queues.length === 0) return ['no queues', '']
  const head = ['queue', 'queued', 'running', 'scheduled', 'completed', 'failed', 'cancelled', '']
  const [title, ...lines] = columns(
    head,
    queues.map((queue) => [
      queue.name,
      ...[queue.queued, queue.running, queue.scheduled, queue.completed, queue.failed, queue.cancelled].map(
        String,
      ),
      queue.paused ? 'paused' : '',
    ]),
  )
  return [
    style('dim', title!),
    ...lines.map((line, i) => (queues[i]!.paused ? style('yellow', line) : line)),
    '',
  ]
}

function discoveryLines({ discoveries }: Overview, style: Style): string[] {
  if (discoveries.length === 0) return []
  const [title, ...lines] = columns(
    ['discovery', 'waiting', 'claimed', 'backing off', 'quarantined', ''],
    discoveries.map(({ name, waiting, claimed, backingOff, quarantined, paused, pausedReason }) => [
      name,
      ...[waiting, claimed, backingOff, quarantined].map(String),
      paused ? `paused${pausedReason === null ? '' : `: ${pausedReason}`}` : '',
    ]),
  )
  return [
    style('dim', title!),
    ...lines.map((line, i) => (discoveries[i]!.paused ? style('yellow', line) : line)),
    '',
  ]
}

function alertLines({ alerts }: Overview, style: Style, width: number): string[] {
  if (alerts.length === 0) return [style('green', 'no alerts')]
  return [
    style('red', plural(alerts.length, 'alert')),
    ...alerts.flatMap(({ message, fix }) => [`  ${style('red', cut(message, width - 2))}`, `    ${fix}`]),
  ]
}
