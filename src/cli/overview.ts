import type { Config } from '../config/types.ts'
import type { Alert } from '../model/alerts.ts'
import type { Serving } from '../model/explanation.ts'
import type { QueueRecord } from '../model/queue.ts'
import type { RowCounts } from '../model/row.ts'
import type { WorkerRecord } from '../model/worker.ts'
import { isProvedDead } from '../process-identity.ts'
import { readAlerts } from '../queue/alerts.ts'
import type { Store } from '../store/contract.ts'
import { readRegistry, type SupervisorRecord } from '../supervisor/reading.ts'

/** All that `status` and `top` show, and what `--json` prints. */
export interface Overview {
  database: string
  asOf: number
  supervisors: SupervisorRecord[]
  workers: WorkerRecord[]
  /** Workers of programs that call `gleaner.work` themselves. */
  unsupervised: Pick<Serving, 'worker' | 'queues' | 'process'>[]
  queues: QueueRecord[]
  discoveries: (RowCounts & { name: string; paused: boolean; pausedReason: string | null })[]
  alerts: Alert[]
}

export async function readOverview(store: Store, { engine, alerts }: Config): Promise<Overview> {
  const [registry, demand, queues, discoveries, raised] = await Promise.all([
    readRegistry(store),
    store.demand(),
    store.listQueues(),
    readDiscoveries(store),
    readAlerts(store, alerts),
  ])
  const supervised = new Set(registry.workers.map(({ id }) => id))
  return {
    database: withoutPassword(engine.database),
    asOf: Date.now(),
    ...registry,
    unsupervised: demand.workers
      .filter(({ worker, process }) => !supervised.has(worker) && !isProvedDead(process))
      .map(({ worker, queues, process }) => ({ worker, queues, process })),
    queues,
    discoveries,
    alerts: raised,
  }
}

async function readDiscoveries(store: Store): Promise<Overview['discoveries']> {
  const discoveries = await store.listDiscoveries()
  return Promise.all(
    discoveries.map(async ({ name, paused, pausedReason }) => ({
      name,
      paused,
      pausedReason,
      ...(await store.countRows(name)),
    })),
  )
}

export function withoutPassword(database: string): string {
  return database.replace(/^(\w+:\/\/[^:/@]*):[^@]*@/, '$1@')
}
