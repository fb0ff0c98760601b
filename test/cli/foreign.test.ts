import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { count } from '../../examples/python/tasks.ts'
import { defineTask, type Gleaner, openGleaner } from '../../src/index.ts'
import { checkout, folderWith, GLEANER } from '../config/files.ts'
import { until } from '../until.ts'
import { Journey } from './journey.ts'

const WAIT = { timeout: '25s' } as const

async function opened(folder: string, tasks: Parameters<typeof openGleaner>[0]['tasks']): Promise<Gleaner> {
  const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks })
  onTestFinished(() => app.close())
  return app
}

const CONFIG = `import { defineConfig, defineDiscovery, defineTask } from ${GLEANER}
  const job = defineTask({ name: 'job', queue: 'py' })
  const files = defineDiscovery({
    name: 'tag-files', table: 'files', key: 'id', where: 'tagged = 0',
    done: (result) => ({ tagged: 1, ...result }),
  })
  export default defineConfig({
    database: 'sqlite:./app.db', tasks: [job], discoveries: [files],
    pools: { py: { command: ['python3', 'worker.py'], queues: ['py'], discoveries: ['tag-files'] } },
    supervisor: { name: 'test', timings: { frame: 200, stale: 400, hung: 1200, registry: 100, commands: 100, backoff: 100 } },
  })`

const PRELUDE = `import json, os, sys, time
def say(type, id, **details):
    sys.stdout.write("TASK|" + json.dumps({"type": type, "id": id, **details}) + "\\n"); sys.stdout.flush()
def told():
    for line in sys.stdin:
        yield json.loads(line[5:])
`

test('a program in a pool does tasks and rows under a supervisor', { timeout: 60_000 }, async () => {
  const folder = folderWith({
    'gleaner.config.ts': CONFIG,
    'worker.py': `${PRELUDE}
kept = b"x" * 300_000_000
for m in told():
    if m["type"] == "stop": break
    row = m["input"]
    if m["name"] == "job": say("done", m["id"], result=os.environ["GLEANER_COMPONENT_ID"])
    elif row["path"] == "bad": say("failed", m["id"], error="no such file", retry=False)
    else: say("done", m["id"], result={"title": row["path"].upper() + " " + row["hash"], "size": row["size"] + 2})`,
  })
  const db = new Database(join(folder, 'app.db'))
  onTestFinished(() => void db.close())
  db.exec(
    'CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT, size INTEGER, hash BLOB, tagged INTEGER, title TEXT)',
  )
  const job = defineTask({ name: 'job', queue: 'py' })
  const app = await opened(folder, [job])
  const insert = db.prepare('INSERT INTO files (path, size, hash, tagged) VALUES (?, ?, ?, 0)')
  insert.run('a.flac', 9007199254740993n, Buffer.from('hi'))
  insert.run('bad', 1, null)
  const start = new Journey(folder, 'start')
  expect(await (await app.enqueue(job)).result(WAIT)).toBe('worker:py:0')
  // Its own memory, not that of the process that hosts it.
  await until('its memory is shown', async () =>
    (await app.workers.list()).some(({ rss }) => (rss ?? 0) > 300e6),
  )
  const files = db.prepare('SELECT title, size FROM files ORDER BY id').raw().safeIntegers()
  await expect
    .poll(() => files.all(), { timeout: 20_000 })
    .toEqual([
      ['A.FLAC aGk=', 9007199254740995n],
      [null, 1n],
    ])
  start.signal('SIGTERM')
  expect((await start.ended).code).toBe(0)
})

test('a program gets nothing of the environment but what it needs and what the pool names, and no group of the supervisor', {
  timeout: 60_000,
}, async () => {
  const isRoot = process.getuid?.() === 0
  const script = `${PRELUDE}
for m in told():
    if m["type"] == "stop": break
    say("done", m["id"], result={"env": sorted(os.environ), "hf": os.environ.get("HF_HOME"), "ids": [os.getuid(), os.getgid(), *os.getgroups()]})`
  const folder = folderWith({
    'gleaner.config.ts': CONFIG.replace('discoveries: [files],', '').replace(
      /pools: .*/,
      `pools: { py: { command: ['python3', '-c', ${JSON.stringify(script)}], queues: ['py'], env: ['HF_HOME']${isRoot ? ', uid: 65534' : ''} } },`,
    ),
  })
  const job = defineTask({ name: 'job', queue: 'py' })
  const app = await opened(folder, [job])
  const env = {
    GLEANER_TOKEN: 'a-secret-of-operators',
    AWS_SECRET_ACCESS_KEY: 'x',
    HF_HOME: '/models',
    LC_ALL: 'C',
  }
  const start = new Journey(
    { cwd: folder, env: { ...env, GLEANER_DATABASE: `sqlite:${join(folder, 'app.db')}` } },
    'start',
  )
  const result = (await (await app.enqueue(job)).result(WAIT)) as { env: string[]; hf: string; ids: number[] }
  const expected = /^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|HF_HOME|GLEANER_(COMPONENT_ID|PROCESS|PROGRAM))$/
  expect(result.env.filter((name) => !expected.test(name))).toEqual([])
  expect(result.env).toEqual(expect.arrayContaining(['PATH', 'LC_ALL', 'HF_HOME', 'GLEANER_COMPONENT_ID']))
  expect(result.hf).toBe('/models')
  if (isRoot) expect(result.ids).toEqual([65534, Number(execFileSync('id', ['-g', '65534']))])
  start.signal('SIGTERM')
  expect((await start.ended).code).toBe(0)
})

test('a program that is killed is a crash: its task runs again, in another process', {
  timeout: 60_000,
}, async () => {
  const folder = folderWith({
    'gleaner.config.ts': CONFIG.replace('discoveries: [files],', '').replace(
      "discoveries: ['tag-files']",
      '',
    ),
    'worker.py': `${PRELUDE}
for m in told():
    if m["type"] == "stop": break
    if m["attempt"] == 1: os.kill(os.getpid(), 9)
    say("done", m["id"], result={"attempt": m["attempt"]})`,
  })
  const job = defineTask({ name: 'job', queue: 'py' })
  const app = await opened(folder, [job])
  const start = new Journey(folder, 'start')
  const handle = await app.enqueue(job)
  expect(await handle.result(WAIT)).toEqual({ attempt: 2 })
  expect((await app.tasks.get(handle.id))?.crashes).toBe(1)
  expect(start.said).toContain('the program ended with SIGKILL')
  start.signal('SIGTERM')
  expect((await start.ended).code).toBe(0)
})

test('its own frames decide: it says why it backs off; silent after that it is unhealthy, then killed', {
  timeout: 60_000,
}, async () => {
  const folder = folderWith({
    'gleaner.config.ts': CONFIG.replace('discoveries: [files],', '').replace(
      "discoveries: ['tag-files']",
      '',
    ),
    'worker.py': `${PRELUDE}
os.write(3, b'HEALTH|{"component_id":"worker:py:0","phase":"backing_off","reason":"no VRAM"}\\n')
print("framed once", flush=True)
time.sleep(600)`,
  })
  const app = await opened(folder, [])
  const start = new Journey(folder, 'start')
  await until('its reason is shown', async () =>
    (await app.workers.list()).some(({ reason }) => reason === 'no VRAM'),
  )
  await start.hears(/worker:py:0 worker backs off \(pid \d+\): no VRAM/)
  await start.hears(/framed once[\s\S]*the program ended with SIGKILL[\s\S]*framed once/)
})

test('the example in Python runs as it is', { timeout: 60_000 }, async () => {
  const folder = folderWith({})
  const app = await opened(folder, [count])
  const env = { GLEANER_DATABASE: `sqlite:${join(folder, 'app.db')}` }
  const start = new Journey({ cwd: join(checkout, 'examples/python'), env }, 'start')
  const handle = await app.enqueue(count, { text: 'rye wheat rye' })
  expect(await handle.result(WAIT)).toEqual({ rye: 2, wheat: 1 })
  start.signal('SIGTERM')
  expect((await start.ended).code).toBe(0)
})
