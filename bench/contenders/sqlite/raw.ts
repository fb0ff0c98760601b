import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Payload } from '../../payload.ts'
import type { Contender, Queue, Settings, Work, WorkHooks } from '../contender.ts'

const BULK_ROWS = 5000
const CLAIM_ROWS = 100
const PRIORITY_DEFAULT = 100
const BUSY_TIMEOUT_MS = 5000

/**
 * The least that deserves the name of a queue, as one would write it by hand: one table, one index that
 * serves the claim, no retries, no leases, no events. What a library adds is measured against this.
 */
export const contender: Contender = {
  async open(file, settings) {
    return openRaw(file, settings)
  },
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY,
    status INTEGER NOT NULL DEFAULT 0, -- 0 queued, 1 running, 2 completed
    priority INTEGER NOT NULL,
    payload TEXT NOT NULL,
    result TEXT,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX IF NOT EXISTS tasks_waiting ON tasks (priority, id) WHERE status = 0;
`
const CLAIM = `
  UPDATE tasks SET status = 1, attempts = attempts + 1
  WHERE id IN (SELECT id FROM tasks WHERE status = 0 ORDER BY priority, id LIMIT ${CLAIM_ROWS})
  RETURNING id, payload
`

interface ClaimedRow {
  id: number
  payload: string
}
interface Finished {
  id: number
  result: string | null
}

function openRaw(file: string, { durability, pollMs }: Settings): Queue {
  const db = new Database(file, { timeout: BUSY_TIMEOUT_MS })
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${durability}`)
  db.exec(SCHEMA)

  const insert = db.prepare('INSERT INTO tasks (priority, payload, created_at) VALUES (?, ?, ?)')
  const claim = db.prepare<[], ClaimedRow>(CLAIM)
  const complete = db.prepare('UPDATE tasks SET status = 2, result = ? WHERE id = ?')

  const insertOne = (payload: Payload) => insert.run(PRIORITY_DEFAULT, JSON.stringify(payload), Date.now())
  const insertBatch = db.transaction((payloads: readonly Payload[], from: number, to: number) => {
    for (let index = from; index < to; index++) insertOne(payloads[index]!)
  })
  const insertInBatches = (payloads: readonly Payload[], rows: number) => {
    for (let from = 0; from < payloads.length; from += rows) {
      insertBatch.immediate(payloads, from, Math.min(from + rows, payloads.length))
    }
  }
  const settleAndClaim = db.transaction((finished: readonly Finished[]) => {
    for (const { id, result } of finished) complete.run(result, id)
    return claim.all()
  })

  return {
    async enqueueEach(payloads) {
      for (const payload of payloads) insertOne(payload)
    },
    async enqueueTogether(payloads, callers) {
      insertInBatches(payloads, callers)
    },
    async enqueueMany(payloads) {
      insertInBatches(payloads, BULK_ROWS)
    },
    async keepCompleted(payloads) {
      insertInBatches(payloads, BULK_ROWS)
      db.exec('UPDATE tasks SET status = 2, attempts = 1')
    },
    async counts() {
      return db.prepare('SELECT status, count(*) FROM tasks GROUP BY status').all()
    },
    async firstPage() {
      return db.prepare('SELECT * FROM tasks ORDER BY id DESC LIMIT 50').all()
    },
    work: (hooks) => startRawWorker((finished) => settleAndClaim.immediate(finished), hooks, pollMs),
    async close() {
      db.close()
    },
  }
}

function startRawWorker(
  settleAndClaim: (finished: Finished[]) => ClaimedRow[],
  hooks: WorkHooks,
  pollMs: number,
): Work {
  let stopping = false
  const empty = Promise.withResolvers<void>()
  const handler = async (payload: Payload): Promise<unknown> => hooks.onRun(payload)

  async function loop() {
    let finished: Finished[] = []
    while (!stopping) {
      const rows = settleAndClaim(finished)
      finished = []
      for (const { id, payload } of rows) {
        const result = await handler(JSON.parse(payload))
        finished.push({ id, result: result === undefined ? null : JSON.stringify(result) })
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
