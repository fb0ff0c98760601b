import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { defineTask, openGleaner } from '../../src/index.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { Journey } from './journey.ts'

const TASKS = `import { defineDiscovery, defineTask, PermanentError } from ${GLEANER}
  export const fine = defineTask({ name: 'fine', run: () => 1 })
  export const fails = defineTask({ name: 'fails', retry: { attempts: 2, base: 10 }, run() {
    throw new Error('SMTP is down\\nsecond line \\x1b[2J')
  } })
  export const never = defineTask({ name: 'never', run() { throw new PermanentError('no such user') } })
  export const dies = defineTask({ name: 'dies', retry: { attempts: 1 }, run: () => process.kill(process.pid, 'SIGKILL') })
  export const blocks = defineTask({ name: 'blocks', timeout: 100, retry: { attempts: 1 }, run() { for (;;); } })
  export const many = defineTask({ name: 'many', retry: { attempts: 1 }, run() { throw new Error('one of many') } })
  export const tag = defineDiscovery({ name: 'tag', table: 'files', key: 'path', where: 'tagged = 0', retry: { attempts: 1 },
    run(row) { throw new Error('not a song') }, done: () => ({ tagged: 1 }) })`
const CONFIG = `import { defineConfig } from ${GLEANER}
  import { blocks, dies, fails, fine, many, never, tag } from './tasks.ts'
  export default defineConfig({
    database: 'sqlite:./app.db', server: false, tasks: [blocks, dies, fails, fine, many, never], discoveries: [tag],
    pools: { main: { concurrency: 1 } },
    supervisor: { timings: { frame: 100, stale: 500, grace: 100, backoff: 10 } },
  })`
const ATTEMPTS = { blocks: 1, dies: 1, fails: 2, fine: 1, many: 1, never: 3 }
const TASK = Object.fromEntries(
  Object.entries(ATTEMPTS).map(([name, attempts]) => [name, defineTask({ name, retry: { attempts } })]),
)

async function project() {
  const folder = folderWith({ 'tasks.ts': TASKS, 'gleaner.config.ts': CONFIG })
  const path = join(folder, 'app.db')
  const db = new Database(path)
  db.exec(
    `CREATE TABLE files (path TEXT PRIMARY KEY, tagged INTEGER); CREATE INDEX waiting ON files (path) WHERE tagged = 0`,
  )
  onTestFinished(() => void db.close())
  const app = await openGleaner({ database: `sqlite:${path}`, tasks: Object.values(TASK) })
  onTestFinished(() => app.close())
  return { folder, db, enqueue: async (name: string) => (await app.enqueue(TASK[name]!)).id, app }
}

test('gleaner start logs each failed attempt in a line that says what follows, also if its process died', async () => {
  const { folder, db, enqueue } = await project()
  const start = new Journey(folder, 'start', '--quiet')
  const fails = await enqueue('fails')
  await start.hears(
    new RegExp(
      `worker:main:0 fails ${fails}: attempt 1 of 2 failed after \\d+ ms: Error: SMTP is down; next try in \\d+ ms\\n`,
    ),
  )
  await start.hears(
    new RegExp(
      `fails ${fails}: attempt 2 of 2 failed after \\d+ ms: Error: SMTP is down; no attempt is left; retry it with .gleaner tasks retry ${fails}.\\n`,
    ),
  )
  const never = await enqueue('never')
  await start.hears(
    new RegExp(
      `never ${never}: attempt 1 of 3 failed .*: no such user; this error is permanent; retry it with`,
    ),
  )
  const dies = await enqueue('dies')
  await start.hears(
    new RegExp(`dies ${dies}: attempt 1 of 1 failed: .*SIGKILL.*; the task is quarantined; retry it with`),
  )
  const blocks = await enqueue('blocks')
  await start.hears(
    new RegExp(`blocks ${blocks}: attempt 1 of 1 failed: .*; no attempt is left; retry it with`),
  )
  db.exec(`INSERT INTO files VALUES ('a b.mp3', 0)`)
  await start.hears(
    /worker:main:0 tag\/a b\.mp3: attempt 1 of 1 failed .*: Error: not a song; the row is quarantined; retry it with .gleaner discoveries retry tag 'a b\.mp3'.\n/,
  )
  // A completion is no warning, and is not logged without --verbose.
  await enqueue('fine')
  start.signal('SIGTERM')
  await start.ended
  expect(start.said).not.toContain('fine')
  expect(start.said).not.toContain('\x1b')
})

test('--verbose logs completions, too; --json writes the same as fields', async () => {
  const { folder, enqueue } = await project()
  const start = new Journey(folder, 'start', '--verbose', '--json')
  const [fine, never] = [await enqueue('fine'), await enqueue('never')]
  await start.hears(/this error is permanent/)
  start.signal('SIGTERM')
  await start.ended
  const lines = start.said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toContainEqual(
    expect.objectContaining({
      level: 30,
      worker: 'worker:main:0',
      kind: 'completed',
      id: fine,
      name: 'fine',
      queue: 'default',
      msg: expect.stringMatching(new RegExp(`^fine ${fine} completed in \\d+ ms$`)),
    }),
  )
  expect(lines).toContainEqual(
    expect.objectContaining({
      level: 50,
      kind: 'failed',
      id: never,
      attempt: 1,
      retryInMs: null,
      error: expect.objectContaining({ kind: 'permanent', message: expect.stringContaining('no such user') }),
    }),
  )
})

test('gleaner work logs failed attempts as well, and a flood of them as a number', async () => {
  const { folder, app } = await project()
  await app.enqueueMany(
    TASK.many!,
    Array.from({ length: 400 }, () => undefined),
  )
  const work = new Journey(folder, 'work', '--drained')
  expect((await work.ended).code).toBe(0)
  const failures = work.said.match(/many \d+: attempt 1 of 1 failed/g)?.length ?? 0
  const omitted = [...work.said.matchAll(/(\d+) more lines about tasks and rows were left out/g)]
  expect(omitted.length).toBeGreaterThan(0)
  expect(failures + omitted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(400)
})
