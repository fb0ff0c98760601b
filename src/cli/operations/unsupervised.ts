import type { WorkerRecord } from '../../model/worker.ts'
import { isProvedDead } from '../../process-identity.ts'
import type { Store } from '../../store/contract.ts'
import { readRegistry } from '../../supervisor/reading.ts'

/** Workers of programs that call `gleaner.work` themselves. Read without a lock: the database may be busy, or its writer stuck. */
export async function unsupervised(store: Store): Promise<WorkerRecord[]> {
  const [{ workers }, demand] = await Promise.all([readRegistry(store), store.demand()])
  const supervised = new Set(workers.map(({ id }) => id))
  return demand.workers
    .filter(({ worker, process }) => !supervised.has(worker) && !isProvedDead(process))
    .map(({ worker, process }) => ({
      id: worker,
      pool: '',
      status: 'running',
      health: 'healthy',
      phase: null,
      pid: process.pid,
      host: process.host,
      incarnation: null,
      current: [],
      restarts: { recent: 0, total: 0 },
      lastExit: null,
      rss: null,
      loopLagMs: null,
      lastFrameAt: null,
    }))
}
