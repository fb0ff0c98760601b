import { Queue, Worker } from 'bullmq'
import type { Payload } from '../../payload.ts'
import type { Contender } from '../contender.ts'
import { bullQueue, CONCURRENCY, QUEUE } from './open-bullmq.ts'

export const contender: Contender = {
  async open(url, { concurrency = CONCURRENCY }) {
    // A worker's connection must wait for as long as it takes.
    const connection = { url, maxRetriesPerRequest: null }
    return bullQueue({
      queue: new Queue<Payload>(QUEUE, { connection }),
      startWorker: (run, { onError }) =>
        new Worker<Payload>(QUEUE, run, { connection, concurrency }).on('error', onError),
    })
  },
}
