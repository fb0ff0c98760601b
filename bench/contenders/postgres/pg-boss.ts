import { PgBoss } from 'pg-boss'
import type { Payload } from '../../payload.ts'
import { enqueueWithCallers } from '../callers.ts'
import type { Contender, Work, WorkHooks } from '../contender.ts'
import { noneLeft } from './none-left.ts'

const TASK = 'noop'
const BATCH = 1000
/** One call takes any number; beyond this the text of its one parameter grows without making anything faster. */
const BULK_JOBS = 10_000

const UNFINISHED = [
  `SELECT 1 FROM pgboss.job WHERE name = '${TASK}' AND state < 'active' LIMIT 1`,
  `SELECT 1 FROM pgboss.job WHERE name = '${TASK}' AND state = 'active' LIMIT 1`,
]

/** Batches without a pause while they come full, and woken by notifications when idle: its fastest documented ways. */
export const contender: Contender = {
  async open(url, { concurrency }) {
    const boss = new PgBoss({ connectionString: url, useListenNotify: true, schedule: false })
    boss.on('error', () => {})
    await boss.start()
    await boss.createQueue(TASK, { notify: true })
    const send = (payload: Payload) => boss.send(TASK, payload)

    return {
      async enqueueEach(payloads) {
        for (const payload of payloads) await send(payload)
      },
      enqueueTogether: (payloads, callers) => enqueueWithCallers(payloads, callers, send),
      async enqueueMany(payloads) {
        for (let from = 0; from < payloads.length; from += BULK_JOBS) {
          const jobs = payloads.slice(from, from + BULK_JOBS)
          await boss.insert(
            TASK,
            jobs.map((data) => ({ data })),
          )
        }
      },
      work: (hooks) => startBoss(url, boss, hooks, concurrency),
      close: () => boss.stop({ graceful: false }),
    }
  },
}

function startBoss(url: string, boss: PgBoss, hooks: WorkHooks, concurrency: number | undefined): Work {
  boss.on('error', hooks.onError)
  const options = { batchSize: concurrency ?? BATCH, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
  const started = boss.work<Payload>(TASK, options, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => hooks.onRun(data)))
  })
  return {
    async drained() {
      await started
      await noneLeft(url, UNFINISHED)
    },
    stop: () => boss.offWork(TASK),
  }
}
