import type { Gleaner } from '../engine/gleaner.ts'
import { edgeMs, middleMs } from '../model/histogram.ts'
import { DATABASE, type Incident, type Measured, ROWS, WORKERS } from '../model/metrics.ts'
import { TASK_STATUSES } from '../model/task.ts'
import { HEALTHS, type WorkerCounters, type WorkerRecord } from '../model/worker.ts'
import type { Store } from '../store/ports/store.ts'
import type { Hub } from './events/hub.ts'
import { Exposition } from './exposition.ts'
import { allDiscoveries } from './protocol/all-discoveries.ts'
import type { Discovery } from './wire/types.ts'

/** Bounds of the histograms, in seconds. */
const BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800]

/**
 * What there is, from the database: the same whichever process is asked, and of all of them. Counters count without end and
 * survive restarts; what a process has not written down yet (some seconds) is not in them.
 */
export async function prometheusText(gleaner: Gleaner, store: Store, hub: Hub): Promise<string> {
  const out = new Exposition()
  const metrics = await gleaner.metrics()
  for (const queue of await gleaner.queues.list()) {
    for (const status of TASK_STATUSES)
      out.gauge('gleaner_tasks', 'Tasks in the database', queue[status], { queue: queue.name, status })
    out.gauge('gleaner_queue_paused', '1 while a queue is paused', queue.paused ? 1 : 0, {
      queue: queue.name,
    })
  }
  for (const { queue, oldestWaitingMs } of metrics.queues)
    out.gauge(
      'gleaner_oldest_waiting_seconds',
      'How long the next task of the queue has waited',
      (oldestWaitingMs ?? 0) / 1_000,
      {
        queue,
      },
    )
  const totals = await store.admin.readTotals()
  for (const one of totals) if (one.queue !== WORKERS && one.queue !== DATABASE) addTotals(out, one)
  if (metrics.database !== null) addLock(out, totals)
  addClaims(out, totals)
  addWorkers(out, await gleaner.workers.list())
  addDiscoveries(out, await allDiscoveries(gleaner).catch(() => []))
  const { databaseBytes, walBytes } = await store.maintenance.sizes()
  out.gauge('gleaner_database_bytes', 'Size of the database', databaseBytes)
  if (walBytes !== null) out.gauge('gleaner_wal_bytes', 'Size of the write-ahead log', walBytes)
  out.gauge('gleaner_event_clients', 'Clients of the event stream of this server', hub.clients)
  return out.text()
}

function addWorkers(out: Exposition, workers: readonly WorkerRecord[]): void {
  for (const health of HEALTHS) {
    const count = workers.filter((one) => one.health === health).length
    out.gauge('gleaner_workers', 'Workers by health', count, { health })
  }
  for (const worker of workers) addWorker(out, worker)
  for (const { id, pool, restarts, rss } of workers.filter((one) => one.pool !== '')) {
    out.counter('gleaner_worker_restarts_total', 'Restarts after crashes that counted', restarts.total, {
      worker: id,
      pool,
    })
    if (rss !== null)
      out.gauge('gleaner_worker_rss_bytes', 'Resident memory of the worker process', rss, {
        worker: id,
        pool,
      })
  }
}

const WORKER_COUNTERS = {
  discovery_attempts: 'Times that the worker asked for items',
  claim_conflicts: 'Items that another worker claimed first',
  processed: 'Runs that the worker settled',
  files_processed: 'Rows of discoveries that the worker settled',
  errors: 'Runs that failed',
  fenced_writes: 'Writes refused because the worker had lost the claim',
} as const satisfies Partial<Record<keyof WorkerCounters, string>>

/** Workers of two hosts may have the same id. */
function addWorker(out: Exposition, { id, pool, host, counters, program }: WorkerRecord): void {
  const labels = { worker: id, pool, host }
  if (counters !== null) {
    for (const [name, help] of Object.entries(WORKER_COUNTERS))
      out.counter(`gleaner_worker_${name}_total`, help, counters[name as keyof WorkerCounters], labels)
    const help = 'Resource errors in a row'
    out.gauge('gleaner_worker_consecutive_errors', help, counters.consecutive_errors, labels)
  }
  for (const [metric, value] of Object.entries(program?.metrics ?? {}))
    out.gauge('gleaner_worker_program_metric', 'A number that the program of a worker reports', value, {
      ...labels,
      metric,
    })
}

/** Those that count from nothing on: whoever asks for a rate must see the first one, too. */
function addClaims(out: Exposition, totals: readonly Measured[]): void {
  const counted = (name: string, what: Incident) =>
    totals.find((one) => one.queue === WORKERS && one.name === name)?.incidents?.get(what) ?? 0
  for (const source of ['tasks', 'rows']) {
    out.counter('gleaner_claims_total', 'Items that workers claimed', counted(source, 'claims'), { source })
    const help = 'Claims that another worker won'
    out.counter('gleaner_claim_conflicts_total', help, counted(source, 'conflicts'), { source })
  }
  for (const cause of ['crash', 'lease']) {
    out.counter('gleaner_workers_lost_total', 'Workers that were lost', counted(cause, 'lost'), { cause })
    const help = 'Items given back because their worker was lost'
    out.counter('gleaner_rescues_total', help, counted(cause, 'rescued'), { cause })
  }
}

/** Of a SQLite file. A rate of the busy seconds is the share of the time in which a process held the lock. */
function addLock(out: Exposition, totals: readonly Measured[]): void {
  const counted = (what: Incident) =>
    totals.find(({ queue }) => queue === DATABASE)?.incidents?.get(what) ?? 0
  out.counter('gleaner_database_writes_total', 'Write transactions', counted('writes'))
  const busy = 'Seconds in which a process held the write lock'
  out.counter('gleaner_database_busy_seconds_total', busy, counted('busy-us') / 1e6)
  out.counter('gleaner_database_lock_waits_total', 'Waits for the write lock', counted('lock-waits'))
  const waited = 'Seconds that processes waited for the write lock'
  out.counter('gleaner_database_lock_wait_seconds_total', waited, counted('lock-wait-us') / 1e6)
}

function addDiscoveries(out: Exposition, discoveries: readonly Discovery[]): void {
  for (const { name, waiting, claimed, suspended, backingOff, quarantined, paused } of discoveries) {
    const states = { waiting, claimed, suspended, 'backing-off': backingOff, quarantined }
    for (const [state, count] of Object.entries(states))
      if (count !== null) out.gauge('gleaner_rows', 'Rows that need work', count, { discovery: name, state })
    out.gauge('gleaner_discovery_paused', '1 while a discovery is paused', paused ? 1 : 0, {
      discovery: name,
    })
  }
}

function addTotals(
  out: Exposition,
  { queue, name, enqueued, completed, failed, retried, durations, incidents }: Measured,
): void {
  const isRow = queue === ROWS
  const [kind, labels] = isRow ? ['rows', { discovery: name }] : ['tasks', { queue, task: name }]
  if (!isRow) out.counter('gleaner_tasks_enqueued_total', 'Tasks that were enqueued', enqueued, labels)
  out.counter(`gleaner_${kind}_completed_total`, 'Attempts that completed', completed, labels)
  out.counter(`gleaner_${kind}_failed_total`, 'Failed attempts that were the last', failed, labels)
  out.counter(
    `gleaner_${kind}_retried_total`,
    'Failed attempts that another attempt follows',
    retried,
    labels,
  )
  const fenced = incidents?.get('fenced') ?? 0
  out.counter(`gleaner_${kind}_fenced_total`, 'Writes refused because the claim was lost', fenced, labels)
  for (const [what, times] of incidents ?? [])
    if (what !== 'fenced')
      out.counter(`gleaner_${kind}_errors_total`, 'Failed attempts by kind of failure', times, {
        ...labels,
        kind: what,
      })
  let sumMs = 0
  let count = 0
  const buckets = BOUNDS_S.map((le) => ({ le, count: 0 }))
  for (const [bucket, times] of durations) {
    count += times
    sumMs += times * middleMs(bucket)
    for (const one of buckets) if (edgeMs(bucket) <= one.le * 1_000) one.count += times
  }
  const help = 'Duration of attempts, within 9 %'
  out.histogram(`gleaner_${kind}_duration_seconds`, help, { buckets, sum: sumMs / 1_000, count }, labels)
}
