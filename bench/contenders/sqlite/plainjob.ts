import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { better, defineQueue, defineWorker, type Logger } from 'plainjob'
import type { Contender, Work, WorkHooks } from '../contender.ts'

const TASK = 'noop'
const DRAIN_CHECK_MS = 10

/** plainjob is synchronous throughout: a caller holds the thread until its commit is done. */
export const contender: Contender = {
  pollMs: 1000,
  async open(file, { durability, pollMs, concurrency = 1 }) {
    const db = new Database(file)
    const queue = defineQueue({ connection: better(db), logger: SILENT })
    // After defineQueue, which sets NORMAL by itself.
    db.pragma(`synchronous = ${durability}`)

    return {
      async enqueueEach(payloads) {
        for (const payload of payloads) queue.add(TASK, payload)
      },
      async enqueueTogether(payloads) {
        for (const payload of payloads) queue.add(TASK, payload)
      },
      async enqueueMany(payloads) {
        queue.addMany(TASK, [...payloads])
      },
      async keepCompleted(payloads) {
        queue.addMany(TASK, [...payloads])
        db.exec(`UPDATE plainjob_jobs SET status = ${DONE}`)
      },
      async counts() {
        return [PENDING, PROCESSING, DONE, FAILED].map((status) => queue.countJobs({ status }))
      },
      work: (hooks) => startWorkers(queue, db, hooks, { pollMs, concurrency }),
      async close() {
        queue.close()
      },
    }
  },
}

// JobStatus is an enum whose values are all that is needed here.
const [PENDING, PROCESSING, DONE, FAILED] = [0, 1, 2, 3] as const

const SILENT: Logger = { error() {}, warn() {}, info() {}, debug() {} }

/** Each takes one task at a time; several side by side are how it runs several. */
function startWorkers(
  queue: ReturnType<typeof defineQueue>,
  db: Database.Database,
  hooks: WorkHooks,
  { pollMs, concurrency }: { pollMs: number; concurrency: number },
): Work {
  const workers = Array.from({ length: concurrency }, () =>
    defineWorker(TASK, async (job) => hooks.onRun(JSON.parse(job.data)), {
      queue,
      pollIntervall: pollMs,
      logger: SILENT,
    }),
  )
  const unfinished = db.prepare(
    `SELECT 1 FROM plainjob_jobs WHERE status IN (${PENDING}, ${PROCESSING}) LIMIT 1`,
  )
  let stopping = false

  // A busy database ends plainjob's loop with an exception; its documentation leaves the restart to the user.
  async function keepRunning(worker: (typeof workers)[number]) {
    while (!stopping) await worker.start().catch(hooks.onError)
  }
  const running = workers.map(keepRunning)

  return {
    // plainjob announces no end of the queue. Looking at the index now and then costs it next to nothing.
    async drained() {
      while (unfinished.get() !== undefined) await sleep(DRAIN_CHECK_MS)
    },
    async stop() {
      stopping = true
      await Promise.all(workers.map((worker) => worker.stop()))
      await Promise.all(running)
    },
  }
}
