import Database from 'better-sqlite3'
import pg from 'pg'
import { defineDiscovery, openGleaner, PermanentError } from '../../src/index.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { openStore } from '../../src/store/by-url/open.ts'
import type { Payload } from '../payload.ts'
import { enqueueWithCallers } from './callers.ts'
import type { Contender, WorkHooks } from './contender.ts'
import { LIBRARY } from './library.ts'

const CONCURRENCY = 100
const BULK_ROWS = 1_000
const CLAIM_ROWS = 500
const BUSY_TIMEOUT_MS = 5_000

/** What the app has: rows, of which some need work. To enqueue is to insert one. */
const TABLE = [
  `CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, size INTEGER NOT NULL,
     owner TEXT NOT NULL, kind TEXT NOT NULL, todo INTEGER NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS files_to_do ON files (id) WHERE todo = 1',
]

export const ROWS = { name: 'files', table: 'files', key: ['id'], where: 'todo = 1' } as const

export const STORE = { durability: 'normal', postgres: {}, sqlite: { library: LIBRARY } } as const

/** As the store knows it. */
export const SOURCE = { ...ROWS, version: null, orderBy: null, maxAttempts: 3, crashLimit: 3 }

/** Gleaner once more: the same work, found in a table of the app's own. */
export const contender: Contender = {
  async open(place, { durability }) {
    const app = await openApp(place)
    for (const sql of TABLE) await app.run(sql)
    let onRun: (row: Record<string, any>) => unknown = () => {}
    const files = defineDiscovery({
      ...ROWS,
      retry: { base: '1h', max: '1h' },
      run: async (row) => onRun(row),
      done: () => ({ todo: 0 }),
    })
    const database = place.startsWith('postgres:') ? place : `sqlite:${place}`
    const postgres = place.startsWith('postgres:') ? { wakeTriggers: true } : undefined
    const sqlite = { driver: LIBRARY } as const
    const gleaner = await openGleaner({ database, durability, discoveries: [files], postgres, sqlite })
    const insert = (payloads: readonly Payload[]) => app.run(insertion(payloads))
    /** In the order of keys they are in front of all that come later. */
    const insertAndFail = async (payloads: readonly Payload[], error: () => Error) => {
      await insertMany(payloads)
      onRun = () => {
        throw error()
      }
      const worker = gleaner.work({ concurrency: CONCURRENCY })
      await worker.drained()
      await worker.stop()
    }
    const insertMany = async (payloads: readonly Payload[]) => {
      for (let from = 0; from < payloads.length; from += BULK_ROWS)
        await insert(payloads.slice(from, from + BULK_ROWS))
    }

    return {
      async enqueueEach(payloads) {
        for (const payload of payloads) await insert([payload])
      },
      enqueueTogether: (payloads, callers) =>
        enqueueWithCallers(payloads, callers, (payload) => insert([payload])),
      enqueueMany: insertMany,
      quarantineInFront: (payloads) => insertAndFail(payloads, () => new PermanentError('out of order')),
      backOffInFront: (payloads) => insertAndFail(payloads, () => new Error('not now')),
      async claimInFront(payloads) {
        await insertMany(payloads)
        await claimAll(database, payloads.length)
      },
      work(hooks: WorkHooks) {
        onRun = (row) => hooks.onRun({ ...(row as Omit<Payload, 'n'>), n: Number(row.id) - 1 })
        gleaner.on('problem', ({ message, error }) => hooks.onError(new Error(message, { cause: error })))
        for (const event of ['claim-lost', 'failed', 'changed', 'gone'] as const)
          gleaner.on(event, ({ id }) => hooks.onError(new Error(`${id}: ${event}`)))
        const worker = gleaner.work({ concurrency: CONCURRENCY })
        return { drained: () => worker.drained(), stop: () => worker.stop() }
      },
      async close() {
        await gleaner.close()
        await app.close()
      },
    }
  },
}

/** For a session that is not ended: nobody sweeps where claims are measured. */
async function claimAll(database: string, count: number): Promise<void> {
  const store = await openStore(database, STORE)
  await store.rows.planDiscoveries([SOURCE])
  const session = await openSession(store)
  const want = { discoveries: [ROWS.name], start: CLAIM_ROWS, ahead: 0, empty: false }
  for (let held = 0; held < count; ) {
    const { claims } = await store.rows.exchangeRows({ session, starts: [], outcomes: [], want })
    if (claims.length === 0) throw new Error(`${held} of ${count} rows were claimed`)
    held += claims.length
  }
  await store.close()
}

export function openSession(store: Awaited<ReturnType<typeof openStore>>): Promise<string> {
  return store.sessions.openSession({
    worker: 'bench',
    process: identifySelf(),
    queues: [],
    names: [],
    capabilities: {},
    discoveries: [ROWS.name],
  })
}

function connect(place: string) {
  const options = { timeout: BUSY_TIMEOUT_MS }
  if (LIBRARY === 'better-sqlite3') return new Database(place, options)
  // Not imported: a second library that is loaded is refused.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  return new DatabaseSync(place, options)
}

function insertion(payloads: readonly Payload[]): string {
  const rows = payloads.map(
    ({ n, path, size, owner, kind }) => `(${n + 1}, '${path}', ${size}, '${owner}', '${kind}', 1)`,
  )
  return `INSERT INTO files (id, path, size, owner, kind, todo) VALUES ${rows.join(', ')}`
}

interface App {
  run(sql: string): Promise<void>
  close(): Promise<void>
}

/** A connection of the app's own. */
async function openApp(place: string): Promise<App> {
  if (!place.startsWith('postgres:')) {
    const db = connect(place)
    db.exec('PRAGMA journal_mode = WAL')
    return {
      run: async (sql) => void db.exec(sql),
      close: async () => void db.close(),
    }
  }
  const client = new pg.Client({ connectionString: place })
  await client.connect()
  // A user that is called as our schema would make its tables there, as soon as that exists.
  await client.query('SET search_path TO public')
  return {
    run: async (sql) => void (await client.query(sql)),
    close: () => client.end(),
  }
}
