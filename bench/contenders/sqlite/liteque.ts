import { buildDBClient, Runner, SqliteQueue } from 'liteque'
import type { Payload } from '../../payload.ts'
import { enqueueWithCallers } from '../callers.ts'
import type { Contender } from '../contender.ts'
import { letOthersRunNowAndThen } from './event-loop.ts'

export const contender: Contender = {
  pollMs: 1000,
  async open(file, { durability, pollMs, concurrency = 1 }) {
    const client = allowAsyncTransactions(buildDBClient(file, { runMigrations: true }))
    const sqlite = connectionOf(client)
    sqlite.pragma(`synchronous = ${durability}`)
    const queue = new SqliteQueue<Payload>('noop', client, {
      defaultJobArgs: { numRetries: 2 },
      keepFailedJobs: true,
    })
    const enqueue = (payload: Payload) => queue.enqueue(payload)

    return {
      async enqueueEach(payloads) {
        for (const payload of payloads) await enqueue(payload)
      },
      enqueueTogether: (payloads, callers) => enqueueWithCallers(payloads, callers, enqueue),
      // It has no bulk call.
      enqueueMany: (payloads) => enqueueWithCallers(payloads, 100, enqueue),
      counts: () => queue.stats(),
      work(hooks) {
        const runner = new Runner<Payload>(
          queue,
          {
            async run(job) {
              await hooks.onRun(job.data)
              await letOthersRunNowAndThen()
            },
            onError: async ({ error }) => hooks.onError(error),
          },
          { concurrency, pollIntervalMs: pollMs, timeoutSecs: 5 },
        )
        // A runner is either told to end when empty or to go on for ever: decided by the first question asked.
        let running: Promise<void> | undefined
        const begin = (run: () => Promise<void>) => {
          running ??= run().catch(hooks.onError)
          return running
        }
        setImmediate(() => begin(() => runner.run()))
        return {
          drained: () => begin(() => runner.runUntilEmpty()),
          async stop() {
            runner.stop()
            await running
          },
        }
      },
      async close() {
        sqlite.close()
      },
    }
  },
}

type Client = ReturnType<typeof buildDBClient>

/**
 * liteque 0.8.0 hands an async function to better-sqlite3's transaction(), which refuses that since 11.10.
 * Before, BEGIN and COMMIT simply enclosed nothing, because the function had not run yet. This gives liteque
 * the same statements in the same order; its allocation id, not the transaction, guards the claim.
 */
function allowAsyncTransactions(client: Client): Client {
  return Object.assign(client, { transaction: (run: (tx: Client) => unknown) => run(client) })
}

/** liteque builds its own connection and drizzle keeps it in a field that its types do not mention. */
function connectionOf(client: Client): { pragma(source: string): unknown; close(): void } {
  return (client as unknown as { session: { client: { pragma(source: string): unknown; close(): void } } })
    .session.client
}
