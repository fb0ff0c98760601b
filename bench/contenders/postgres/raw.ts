import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Payload } from '../../payload.ts'
import type { Contender, Queue, Settings, Work, WorkHooks } from '../contender.ts'

const BULK_ROWS = 5000
const CLAIM_ROWS = 100

/**
 * The least that deserves the name of a queue, as one would write it by hand: one table, a partial index for the claim
 * alone, no retries, no leases, no events. What a library adds is measured against this.
 */
export const contender: Contender = {
  pollMs: 1000,
  async open(url, settings) {
    return openRaw(url, settings)
  },
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tasks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now(),
    priority integer NOT NULL DEFAULT 100,
    attempts integer NOT NULL DEFAULT 0,
    status smallint NOT NULL DEFAULT 0, -- 0 queued, 1 running, 2 completed
    payload text NOT NULL,
    result text
  );
  CREATE INDEX IF NOT EXISTS tasks_waiting ON tasks (priority, id) WHERE status = 0;
`
const INSERT = 'INSERT INTO tasks (payload) SELECT unnest($1::text[]) RETURNING id'

const DEADLOCK = '40P01'

/** One statement, so one round trip and one transaction. */
const SETTLE_AND_CLAIM = `
  WITH finished AS (
    UPDATE tasks SET status = 2, result = done.result
    FROM unnest($1::bigint[], $2::text[]) done(id, result) WHERE tasks.id = done.id
  ), next AS MATERIALIZED (
    SELECT id FROM tasks WHERE status = 0 ORDER BY priority, id LIMIT ${CLAIM_ROWS} FOR UPDATE SKIP LOCKED
  )
  UPDATE tasks SET status = 1, attempts = attempts + 1 FROM next WHERE tasks.id = next.id
  RETURNING tasks.id, payload
`

interface ClaimedRow {
  id: string
  payload: string
}
interface Finished {
  ids: string[]
  results: (string | null)[]
}

async function openRaw(url: string, { durability, pollMs }: Settings): Promise<Queue> {
  const pool = new pg.Pool({
    connectionString: url,
    options: `-c synchronous_commit=${durability === 'full' ? 'on' : 'off'}`,
  })
  await pool.query(SCHEMA)
  const insert = async (payloads: readonly Payload[], rows: number) => {
    for (let from = 0; from < payloads.length; from += rows) {
      const texts = payloads.slice(from, from + rows).map((payload) => JSON.stringify(payload))
      await pool.query({ name: 'insert', text: INSERT, values: [texts] })
    }
  }
  const settleAndClaim = async ({ ids, results }: Finished): Promise<ClaimedRow[]> => {
    for (;;) {
      try {
        return (await pool.query({ name: 'claim', text: SETTLE_AND_CLAIM, values: [ids, results] })).rows
      } catch (error) {
        // Rarely, two processes wait for each other: the server gives one of them up, who tries again.
        if ((error as { code?: string }).code !== DEADLOCK) throw error
      }
    }
  }

  return {
    enqueueEach: (payloads) => insert(payloads, 1),
    enqueueTogether: insert,
    enqueueMany: (payloads) => insert(payloads, BULK_ROWS),
    async keepCompleted(payloads) {
      await insert(payloads, BULK_ROWS)
      await pool.query('UPDATE tasks SET status = 2, attempts = 1 WHERE status = 0')
    },
    work: (hooks) => startRawWorker(settleAndClaim, hooks, pollMs),
    close: () => pool.end(),
  }
}

function startRawWorker(
  settleAndClaim: (finished: Finished) => Promise<ClaimedRow[]>,
  hooks: WorkHooks,
  pollMs: number,
): Work {
  let stopping = false
  const empty = Promise.withResolvers<void>()
  const handler = async (payload: Payload): Promise<unknown> => hooks.onRun(payload)

  async function loop() {
    let finished: Finished = { ids: [], results: [] }
    while (!stopping) {
      const rows = await settleAndClaim(finished)
      finished = { ids: [], results: [] }
      for (const { id, payload } of rows) {
        const result = await handler(JSON.parse(payload))
        finished.ids.push(id)
        finished.results.push(result === undefined ? null : JSON.stringify(result))
      }
      if (rows.length > 0) continue
      empty.resolve()
      await sleep(pollMs)
    }
  }
  const running = loop().catch((error: unknown) => {
    hooks.onError(error)
    empty.reject(error)
  })

  return {
    drained: () => empty.promise,
    async stop() {
      stopping = true
      await running
    },
  }
}
