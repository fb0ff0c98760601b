import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { drawn } from '../../src/cli/console/progress.ts'
import { defineTask, openGleaner } from '../../src/index.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { openPostgresDatabase } from '../store/postgres-database.ts'
import { gleaner } from './cli.ts'

const CONFIG = `import { defineTask } from ${GLEANER}
  export default { database: 'sqlite:./app.db', tasks: [defineTask({ name: 'mail', run: async () => 1 })] }`
const mail = defineTask({ name: 'mail' })

async function project(tasks: number): Promise<string> {
  const folder = folderWith({ 'gleaner.config.ts': CONFIG })
  const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [mail] })
  for (let i = 0; i < tasks; i++) await app.enqueue(mail)
  await app.close()
  return folder
}

async function waiting(folder: string): Promise<number> {
  return JSON.parse((await gleaner(folder, 'queues', '--json')).stdout)[0].queued
}

describe('gleaner backup and restore', () => {
  test('bring back what was, when that is said', async () => {
    const folder = await project(2)
    const backup = await gleaner(folder, 'backup', 'app.backup')
    expect(backup).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^backed up \d+ kB to .*app\.backup in .*; the copy is verified\n$/),
    })
    expect(await gleaner(folder, 'backup', 'app.backup')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: .*app\.backup.*\n.*overwrite/i),
    })
    expect((await gleaner(folder, 'backup', 'app.backup', '--overwrite', '--json')).code).toBe(0)
    await gleaner(folder, 'enqueue', 'mail')
    expect(await waiting(folder)).toBe(3)

    expect(await gleaner(folder, 'restore', 'app.backup')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: Replace everything in sqlite:.*: the command cannot ask without a terminal\n/,
      ),
    })
    expect((await gleaner({ cwd: folder, answer: 'no' }, 'restore', 'app.backup')).code).toBe(1)
    expect(await waiting(folder)).toBe(3)
    expect(await gleaner(folder, 'restore', 'app.backup', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^restored .*app\.db from app\.backup\n$/),
    })
    expect(await waiting(folder)).toBe(2)
  })

  test('open the database with the library of the config', async () => {
    const library = `const fs = require('node:fs')
      fs.appendFileSync(__dirname + '/loaded', require('node:worker_threads').isMainThread ? 'm' : 't')
      module.exports = require('node:sqlite')`
    const folder = folderWith({
      'library.cjs': library,
      'gleaner.config.ts': CONFIG.replace(
        'tasks:',
        "sqlite: { driver: { module: './library.cjs' } }, tasks:",
      ),
    })
    expect((await gleaner(folder, 'migrate')).code).toBe(0)
    expect((await gleaner(folder, 'backup', 'app.backup')).code).toBe(0)
    const loadedBefore = readFileSync(join(folder, 'loaded'), 'utf8')
    expect((await gleaner(folder, 'restore', 'app.backup', '--yes')).code).toBe(0)
    expect(readFileSync(join(folder, 'loaded'), 'utf8')).toBe(`${loadedBefore}t`)
  })

  test('of a file that is no backup, or a database in use, change nothing', async () => {
    const folder = await project(1)
    expect((await gleaner(folder, 'restore', 'gleaner.config.ts', '--yes')).code).toBe(1)
    await gleaner(folder, 'backup', 'app.backup')
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [mail] })
    onTestFinished(() => app.close())
    expect(await gleaner(folder, 'restore', 'app.backup', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is in use\nStop every process/),
    })
    expect(await waiting(folder)).toBe(1)
  })

  test('of PostgreSQL name its own tools', async () => {
    const env = {
      GLEANER_DATABASE: `${inject('postgresUrl')}?schema=t_${crypto.randomUUID().replaceAll('-', '')}`,
    }
    const cwd = folderWith({ 'gleaner.config.ts': CONFIG })
    expect((await gleaner({ cwd, env }, 'backup', 'app.backup')).stderr).toMatch(
      /does not have Gleaner's tables/,
    )
    expect((await gleaner({ cwd, env }, 'migrate')).stdout).toMatch(
      / had no tables and has version \d+ now\n$/,
    )
    expect((await gleaner({ cwd, env }, 'migrate', '--check')).code).toBe(0)
    expect((await gleaner({ cwd, env }, 'optimize')).stdout).toBe('the database is optimized and vacuumed\n')
    expect(await gleaner({ cwd, env }, 'backup', 'app.backup')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/pg_dump/),
    })
  })
})

test('gleaner copy brings a SQLite database to PostgreSQL, once', async () => {
  const folder = await project(2)
  const target = await openPostgresDatabase()
  onTestFinished(() => target.destroy())
  const url = new URL(`${target.url}?schema=${target.schema}`)
  const shown = url.href.replace(`:${url.password}@`, '@')
  expect(await gleaner(folder, 'copy')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--to <url>'),
  })
  expect(await gleaner(folder, 'copy', '--to', 'sqlite:./other.db')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/not a PostgreSQL URL/),
  })
  expect(await gleaner(folder, 'copy', '--to', url.href, '--dry-run')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining(`2 tasks would be copied to ${shown}\n  2 queued\n`),
  })
  const { code, stdout } = await gleaner(folder, 'copy', '--to', url.href, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    to: shown,
    dryRun: false,
    tasks: { queued: 2 },
    tables: { tasks: 2 },
  })
  expect(await gleaner(folder, 'copy', '--to', url.href)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is not empty \(lanes, tasks.*\)\nNothing was copied/),
  })
  const there = { cwd: folder, env: { GLEANER_DATABASE: url.href } }
  expect((await gleaner(there, 'work', '--drained')).code).toBe(0)
  expect(JSON.parse((await gleaner(there, 'queues', '--json')).stdout)[0]).toMatchObject({
    completed: 2,
    queued: 0,
  })
})

test('gleaner migrate makes the tables, once', async () => {
  const folder = folderWith({ 'gleaner.config.ts': CONFIG })
  const before = readdirSync(folder)
  expect(await gleaner(folder, 'migrate', '--check')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/ has no tables; version \d+ is needed\n$/),
  })
  expect(readdirSync(folder)).toEqual(before)
  expect((await gleaner(folder, 'migrate', '--json')).code).toBe(0)
  expect(existsSync(join(folder, 'app.db'))).toBe(true)
  expect((await gleaner(folder, 'migrate')).stdout).toMatch(/is at version \d+: nothing to do\n$/)
  expect((await gleaner(folder, 'migrate', '--check')).code).toBe(0)
})

test('gleaner optimize and check say how it stands', async () => {
  const folder = await project(1)
  expect((await gleaner(folder, 'optimize', '--vacuum')).stdout).toMatch(
    /^the database is optimized and vacuumed; \d+ kB in the file are free for new tasks/,
  )
  expect(await gleaner(folder, 'check')).toMatchObject({ code: 0, stdout: 'the database has no problems\n' })
  const db = new Database(join(folder, 'app.db'))
  db.exec('UPDATE gleaner_tasks SET session = 999, fence = 1, started_at = 1')
  db.close()
  const repaired = await gleaner(folder, 'check')
  expect(repaired).toMatchObject({ code: 0 })
  expect(repaired.stdout).toMatch(/^all problems are repaired:\n {2}\S.* \(repaired\)\n/)
  expect(await gleaner(folder, 'check')).toMatchObject({ code: 0, stdout: 'the database has no problems\n' })

  const again = new Database(join(folder, 'app.db'))
  again.exec('UPDATE gleaner_lanes SET scheduled = scheduled + 1')
  again.close()
  const { code, stdout } = await gleaner(folder, 'check')
  expect(code).toBe(1)
  expect(stdout).toMatch(/^the database has problems:\n {2}\S/)
})

test('what works on a database only says so to whoever has named a server', async () => {
  const folder = await project(1)
  const setting = { cwd: folder, env: { GLEANER_URL: 'http://127.0.0.1:1' } }
  expect(await gleaner(setting, 'optimize')).toMatchObject({
    code: 0,
    stderr: 'note: this command uses the database of the config and ignores GLEANER_URL\n',
  })
})

test('progress is drawn as a bar, or as time that passes', () => {
  expect(drawn({ label: 'copying', fraction: 0.5 }, 0)).toBe(
    `copying [${'#'.repeat(15)}${'-'.repeat(15)}]  50 %`,
  )
  expect(drawn({ label: 'removing', fraction: 1.2, detail: '12 of 10' }, 0)).toContain('] 100 %  12 of 10')
  expect(drawn({ label: 'checking', fraction: null }, 3_400)).toBe('checking … 3 s')
})
