import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker'
import pg from 'pg'
import type { Payload } from '../../payload.ts'
import { enqueueWithCallers } from '../callers.ts'
import type { Queue, Settings, Work, WorkHooks } from '../contender.ts'
import { noneLeft } from './none-left.ts'

const TASK = 'noop'
/** Of the figures in its documentation. */
const CONCURRENCY = 24
const CONNECTIONS = 25
/** One call takes any number; beyond this the text of its one parameter grows without making anything faster. */
const BULK_JOBS = 10_000

const SILENT = new Logger(() => () => {})

/** It deletes completed jobs, so the youngest that is left tells whether any is. */
const UNFINISHED = 'SELECT 1 FROM graphile_worker._private_jobs ORDER BY id DESC LIMIT 1'

/** Everybody's settings plus `batching`. */
export async function openGraphileWorker(
  url: string,
  batching: GraphileConfig.WorkerOptions,
  { concurrency = CONCURRENCY }: Settings,
): Promise<Queue> {
  const options = { ...batching, concurrentJobs: concurrency }
  const pgPool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  // It asks for both.
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  const utils = await makeWorkerUtils({ pgPool, logger: SILENT })
  await utils.migrate()
  const add = (payload: Payload) => utils.addJob(TASK, payload)

  return {
    async enqueueEach(payloads) {
      for (const payload of payloads) await add(payload)
    },
    enqueueTogether: (payloads, callers) => enqueueWithCallers(payloads, callers, add),
    async enqueueMany(payloads) {
      for (let from = 0; from < payloads.length; from += BULK_JOBS) {
        const jobs = payloads.slice(from, from + BULK_JOBS)
        await utils.addJobs(jobs.map((payload) => ({ identifier: TASK, payload })))
      }
    },
    work: (hooks) => startRunner(url, pgPool, options, hooks),
    async close() {
      await utils.release()
      await pgPool.end()
    },
  }
}

function startRunner(
  url: string,
  pgPool: pg.Pool,
  worker: GraphileConfig.WorkerOptions,
  hooks: WorkHooks,
): Work {
  const started: Promise<Runner> = run({
    pgPool,
    logger: SILENT,
    noHandleSignals: true,
    preset: { worker },
    taskList: { [TASK]: async (payload) => hooks.onRun(payload as Payload) },
  })
  started.then((runner) => runner.promise).catch(hooks.onError)
  return {
    async drained() {
      await started
      await noneLeft(url, [UNFINISHED])
    },
    async stop() {
      await (await started).stop()
    },
  }
}
