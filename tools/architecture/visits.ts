import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { defineDiscovery, defineTask, openGleaner } from '../../src/index.ts'
import { loadDriver } from '../../src/store/sqlite/drivers/load.ts'

// node tools/architecture/visits.ts task|row <database> [schema]
// Prints how many files and functions of src one task or one row visits: the coverage of a real run in an idle worker.
const [kind = 'task', database = '', schema] = process.argv.slice(2)
const SRC = pathToFileURL(join(import.meta.dirname, '../../src/')).href
const AGAIN_MS = 10

/** A connection of the app's own, with a table whose row needs work when its flag is set. */
interface Table {
  name: string
  set(todo: 0 | 1): Promise<void>
  isDone(): Promise<boolean>
  close(): Promise<void>
}

async function onSqlite(path: string): Promise<Table> {
  const db = loadDriver().open(path, { readonly: false })
  db.exec(
    'CREATE TABLE visited (id INTEGER PRIMARY KEY, todo INTEGER NOT NULL); CREATE INDEX visited_todo ON visited (id) WHERE todo = 1; INSERT INTO visited VALUES (1, 0)',
  )
  return {
    name: 'visited',
    set: async (todo) => {
      db.exec(`UPDATE visited SET todo = ${todo}`)
    },
    isDone: async () => (db.prepare('SELECT todo FROM visited').get() as { todo: number }).todo === 0,
    close: async () => {
      db.exec('DROP TABLE visited')
      db.close()
    },
  }
}

async function onPostgres(url: string): Promise<Table> {
  const client = new pg.Client(url)
  await client.connect()
  const name = `${schema}.visited`
  await client.query(`CREATE TABLE ${name} (id integer PRIMARY KEY, todo integer NOT NULL)`)
  await client.query(`CREATE INDEX ON ${name} (id) WHERE todo = 1`)
  await client.query(`INSERT INTO ${name} VALUES (1, 0)`)
  return {
    name,
    set: async (todo) => void (await client.query(`UPDATE ${name} SET todo = $1`, [todo])),
    isDone: async () => (await client.query(`SELECT todo FROM ${name}`)).rows[0].todo === 0,
    close: async () => {
      await client.query(`DROP TABLE ${name}`)
      await client.end()
    },
  }
}

async function visitsOf(work: () => Promise<void>): Promise<{ files: number; functions: number }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const visited = result
    .filter(({ url }) => url.startsWith(SRC))
    .map(({ functions }) =>
      functions.filter(({ functionName, ranges }) => functionName !== '' && ranges[0]!.count > 0),
    )
    .filter((functions) => functions.length > 0)
  return { files: visited.length, functions: visited.flat().length }
}

const isSqlite = database.startsWith('sqlite:')
const table = isSqlite ? await onSqlite(database.slice('sqlite:'.length)) : await onPostgres(database)
const task = defineTask({ name: 'visit', run: async () => 'done' })
const discovery = defineDiscovery({
  name: 'visit-rows',
  table: table.name,
  key: 'id',
  where: 'todo = 1',
  run: async () => 1,
  done: () => ({ todo: 0 }),
})
const gleaner = await openGleaner({
  database,
  tasks: [task],
  discoveries: [discovery],
  // What the engine does beside the work would be counted with it.
  timings: { sweep: '1h', metrics: '1h', repair: '1h', prune: '1h', lease: '3h' },
  ...(schema === undefined ? {} : { postgres: { schema } }),
})
const worker = gleaner.work(
  kind === 'task' ? { queues: ['default'], concurrency: 2 } : { discoveries: ['visit-rows'], concurrency: 2 },
)
await worker.drained()

const visits = await visitsOf(async () => {
  if (kind === 'task') {
    await (await gleaner.enqueue(task, undefined)).result({ timeout: '30s' })
  } else {
    await table.set(1)
    while (!(await table.isDone())) await sleep(AGAIN_MS)
  }
})
console.log(JSON.stringify(visits))
await worker.stop()
await gleaner.close()
await table.close()
