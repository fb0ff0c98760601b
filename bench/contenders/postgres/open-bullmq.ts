import { setTimeout as sleep } from 'node:timers/promises'
import type { Queue as BullQueue, Worker as BullWorker, Job } from 'bullmq'
import type { Payload } from '../../payload.ts'
import { enqueueWithCallers } from '../callers.ts'
import type { Queue, Work, WorkHooks } from '../contender.ts'

export const QUEUE = 'noop'
export const CONCURRENCY = 32
const CHECK_MS = 20
const BULK_JOBS = 1000

export type Processor = (job: Pick<Job<Payload>, 'data' | 'log' | 'updateProgress'>) => Promise<void>

/** The same interface on both of its databases. */
export interface BullParts {
  queue: Pick<BullQueue<Payload>, 'add' | 'addBulk' | 'getJobCountByTypes' | 'close'>
  startWorker(run: Processor, hooks: WorkHooks): Pick<BullWorker, 'close'>
}

export function bullQueue({ queue, startWorker }: BullParts): Queue {
  const add = (payload: Payload) => queue.add(QUEUE, payload)
  return {
    async enqueueEach(payloads) {
      for (const payload of payloads) await add(payload)
    },
    enqueueTogether: (payloads, callers) => enqueueWithCallers(payloads, callers, add),
    async enqueueMany(payloads) {
      for (let from = 0; from < payloads.length; from += BULK_JOBS) {
        await queue.addBulk(payloads.slice(from, from + BULK_JOBS).map((data) => ({ name: QUEUE, data })))
      }
    },
    work: (hooks) => startWork(queue, startWorker, hooks),
    close: () => queue.close(),
  }
}

function startWork(queue: BullParts['queue'], startWorker: BullParts['startWorker'], hooks: WorkHooks): Work {
  const worker = startWorker(
    async (job) =>
      hooks.onRun(job.data, {
        log: (line) => job.log(line),
        progress: (share) => job.updateProgress(share * 100),
      }),
    hooks,
  )
  return {
    async drained() {
      while ((await queue.getJobCountByTypes('wait', 'active')) > 0) await sleep(CHECK_MS)
    },
    stop: () => worker.close(),
  }
}
