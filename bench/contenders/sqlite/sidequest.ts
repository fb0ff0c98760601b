import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { Job, Sidequest } from 'sidequest'
import type { Payload } from '../../payload.ts'
import { enqueueWithCallers } from '../callers.ts'
import type { Contender, Queue, Settings, Work, WorkHooks } from '../contender.ts'
import { letOthersRunNowAndThen } from './event-loop.ts'

const CONCURRENCY = 100
const DRAIN_CHECK_MS = 10

/** Sidequest makes the job object itself, so its hook cannot be handed in. */
let onRun: WorkHooks['onRun'] = () => {}

/** Exported because Sidequest imports this file by its path to find it. */
export class NoopJob extends Job {
  override async run(payload: Payload): Promise<void> {
    await onRun(payload)
    await letOthersRunNowAndThen()
  }
}

/** In this process and inline: its documentation names that for SQLite, and threads only add to a no-op. */
export const contender: Contender = {
  pollMs: 100,
  hidesErrors: true,
  async open(file, settings) {
    const config = configFor(file, settings)
    await Sidequest.configure(config)
    // It takes the time a builder was made as the time its jobs are due: one builder for all is fine.
    const builder = Sidequest.build(NoopJob)
    const enqueue = (payload: Payload) => builder.enqueue(payload)

    const queue: Queue = {
      async enqueueEach(payloads) {
        for (const payload of payloads) await enqueue(payload)
      },
      enqueueTogether: (payloads, callers) => enqueueWithCallers(payloads, callers, enqueue),
      // It has no bulk call.
      enqueueMany: (payloads) => enqueueWithCallers(payloads, 100, enqueue),
      counts: async () => Sidequest.job.count(),
      firstPage: async () => Sidequest.job.list({ limit: 50 }),
      work: (hooks) => startEngine(file, config, hooks),
      close: () => Sidequest.stop(),
    }
    return queue
  },
}

function configFor(file: string, { durability, pollMs }: Settings) {
  return {
    backend: {
      driver: '@sidequest/sqlite-backend',
      config: {
        connection: { filename: file },
        pool: {
          min: 1,
          max: 1,
          afterCreate(
            connection: Database.Database,
            done: (error: null, connection: Database.Database) => void,
          ) {
            connection.pragma(`synchronous = ${durability}`)
            connection.pragma('busy_timeout = 5000')
            done(null, connection)
          },
        },
      },
    },
    queues: [{ name: 'default', concurrency: CONCURRENCY, priority: 50 }],
    maxConcurrentJobs: CONCURRENCY,
    jobPollingInterval: pollMs,
    fork: false,
    runner: 'inline' as const,
    manualJobResolution: true,
    jobsFilePath: fileURLToPath(import.meta.url),
    gracefulShutdown: false,
    logger: { level: 'error' as const, json: false },
    dashboard: { enabled: false },
  }
}

function startEngine(file: string, config: ReturnType<typeof configFor>, hooks: WorkHooks): Work {
  onRun = hooks.onRun
  const watcher = new Database(file, { readonly: true })
  const unfinished = watcher.prepare(
    "SELECT 1 FROM sidequest_jobs WHERE state IN ('waiting', 'claimed', 'running') LIMIT 1",
  )
  const started = Sidequest.start(config).catch(hooks.onError)

  return {
    async drained() {
      await started
      while (unfinished.get() !== undefined) await sleep(DRAIN_CHECK_MS)
    },
    async stop() {
      await started
      watcher.close()
    },
  }
}
