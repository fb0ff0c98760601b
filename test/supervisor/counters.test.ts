import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineDiscovery, defineTask, openGleaner } from '../../src/index.ts'
import type { WorkerRecord } from '../../src/model/worker.ts'
import { gleaner as command } from '../cli/cli.ts'
import { DATABASES, openServer } from '../http/server.ts'
import { tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'
import { pool, test as supervised } from './estate.ts'
import { broken, quick } from './tasks.ts'

const add = defineTask({ name: 'add', queue: 'sums', run: async () => 1 })
const blocking = defineTask({
  name: 'hold',
  queue: 'sums',
  run: (_, ctx) =>
    new Promise((_r, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
})
const tag = defineDiscovery({
  name: 'tag',
  table: 'files',
  key: 'id',
  where: 'tagged = 0',
  run: async () => {},
  done: () => ({ tagged: 1 }),
})

const names = Object.keys(DATABASES) as (keyof typeof DATABASES)[]

describe.each(names)('a worker inside a program on %s', (name) => {
  test('shows other processes what it did and what it runs', async () => {
    const options = { database: `sqlite:${tempDatabase()}`, ...DATABASES[name]() }
    const worker = await openGleaner({ ...options, tasks: [add, blocking], timings: { metrics: '50ms' } })
    onTestFinished(() => worker.close())
    const server = await openServer({}, options)
    const { id } = worker.work({ queues: ['sums'], concurrency: 2 })
    const handles = await worker.enqueueMany(add, Array(5).fill(undefined))
    await Promise.all(handles.map((handle) => handle.result()))
    const held = await worker.enqueue(blocking)
    const listed = async (): Promise<WorkerRecord> => (await server.get('/api/v1/workers')).items[0]
    await until('it was reported', async () => (await listed())?.current[0]?.item === `hold/${held.id}`)
    expect(await listed()).toMatchObject({
      id,
      phase: 'processing',
      health: 'healthy',
      counters: { processed: 5, files_processed: 0, errors: 0, consecutive_errors: 0, claim_conflicts: 0 },
    })
    expect((await listed()).counters!.discovery_attempts).toBeGreaterThan(0)
    const metrics = (await server.call('/metrics')).body as string
    const line = new RegExp(`gleaner_worker_processed_total\\{worker="${id}",pool="",host="[^"]+"\\} 5`)
    expect(metrics).toMatch(line)
    expect(metrics).toContain(`gleaner_worker_consecutive_errors{worker="${id}"`)
    const { stdout } = await command(process.cwd(), 'workers', '--url', server.url)
    expect(stdout).toMatch(/processed +rows +looks +conflicts +errors in a row/)
    await held.cancel()
  })
})

test('rows are counted apart, and a process sees its own workers at once', async () => {
  const path = tempDatabase()
  const db = new Database(path)
  onTestFinished(() => void db.close())
  db.exec('CREATE TABLE files (id INTEGER PRIMARY KEY, tagged INTEGER NOT NULL DEFAULT 0)')
  db.exec('INSERT INTO files (id) VALUES (1), (2), (3)')
  const gleaner = await openGleaner({ database: db, tasks: [add], discoveries: [tag] })
  onTestFinished(() => gleaner.close())
  await gleaner.enqueue(add)
  await gleaner.work().drained()
  const [worker] = await gleaner.workers.list()
  expect(worker).toMatchObject({ phase: 'idle', counters: { processed: 4, files_processed: 3 } })
})

supervised('a supervised worker shows what it did', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const handles = await gleaner.enqueueMany(quick, [1, 2, 3])
  await Promise.all(handles.map((handle) => handle.result()))
  const worker = await estate.worker(supervisor, ({ counters }) => counters?.processed === 3)
  expect(worker.counters).toMatchObject({ errors: 0, consecutive_errors: 0, files_processed: 0 })
  expect(worker.counters!.discovery_attempts).toBeGreaterThan(0)
  await until('others see it', async () => (await gleaner.workers.list())[0]?.counters?.processed === 3)
})

supervised('a pool has its own limit of resource errors in a row', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  await gleaner.enqueueMany(broken, Array(10).fill(undefined))
  const supervisor = await estate.supervise({ pools: [pool({ resourceErrorLimit: 2 })] })
  const worker = await estate.worker(supervisor, ({ lastExit }) => lastExit !== null)
  expect(worker.lastExit).toMatchObject({ code: 13 })
  await estate.logged('gave up after 2 resource errors in a row')
})

const PROGRAM = `
import json, os, sys
health = os.fdopen(3, "w", buffering=1)
def says(**details):
    print("HEALTH|" + json.dumps({"component_id": os.environ["GLEANER_COMPONENT_ID"], **details}), file=health)
says(status="healthy", phase="processing", current_job="scan/disk 2", metrics={"vram": 0.25})
sys.stdin.read()
`

supervised(
  'what a program in another language says of itself is kept, in its own words',
  async ({ estate }) => {
    const program = { command: ['python3', '-c', PROGRAM] as const, env: [], uid: undefined, gid: undefined }
    const supervisor = await estate.supervise({ pools: [pool({ program, queues: ['py'] })] })
    const { program: seen, status } = await estate.worker(supervisor, (worker) => worker.program !== null)
    expect(seen).toEqual({
      status: 'healthy',
      phase: 'processing',
      currentJob: 'scan/disk 2',
      metrics: { vram: 0.25 },
    })
    expect(['starting', 'running']).toContain(status)
  },
)

/** Ends when it has two tasks in its hands that are not suspects. */
const CRASHING = `
import json, os, sys
hands = 0
for line in sys.stdin:
    if not line.startswith("TASK|"): continue
    m = json.loads(line[5:])
    if m["type"] != "run": continue
    if m["suspect"]:
        print("TASK|" + json.dumps({"type": "done", "id": m["id"], "result": "alone"}), flush=True)
        continue
    hands += 1
    if hands == 2: os._exit(9)
`

supervised(
  'a program that crashed with two tasks in its hands gets each alone, as a suspect',
  async ({ estate }) => {
    const gleaner = await estate.gleaner()
    const handles = await gleaner.enqueueMany(quick, [1, 2])
    const program = { command: ['python3', '-c', CRASHING] as const, env: [], uid: undefined, gid: undefined }
    await estate.supervise({ pools: [pool({ program, concurrency: 2 })] })
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '20s' })))
    expect(results).toEqual(['alone', 'alone'])
    for (const { id } of handles) {
      const outcomes = (await gleaner.tasks.attempts(id)).map(({ outcome }) => outcome)
      expect(outcomes).toEqual(['crash', 'completed'])
    }
  },
)
