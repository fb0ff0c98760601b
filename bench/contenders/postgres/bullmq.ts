import { createPostgresBackend, runMigrations, withBackend } from 'bullmq'
import pg from 'pg'
import type { Payload } from '../../payload.ts'
import type { Contender } from '../contender.ts'
import { bullQueue, CONCURRENCY, QUEUE } from './open-bullmq.ts'

export const contender: Contender = {
  async open(url, { concurrency = CONCURRENCY }) {
    await migrate(url)
    const { Queue, Worker } = withBackend(createPostgresBackend)
    const connection = { connectionString: url, max: CONCURRENCY }
    return bullQueue({
      queue: new Queue<Payload>(QUEUE, { connection }),
      startWorker: (run, { onError }) =>
        new Worker<Payload>(QUEUE, run, { connection, concurrency }).on('error', onError),
    })
  },
}

/** Connections do not migrate by themselves; once done, this does nothing. */
async function migrate(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  const client = await pool.connect()
  await runMigrations(client)
  client.release()
  await pool.end()
}
