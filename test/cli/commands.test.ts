import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineDiscovery, defineTask, openGleaner } from '../../src/index.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { openStore } from '../../src/store/by-url/open.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { gleaner } from './cli.ts'

const CONFIG = `import { defineConfig, defineTask } from ${GLEANER}
  const mail = defineTask({ name: 'mail', run: async () => 1 })
  export default defineConfig({
    database: 'sqlite:./app.db', tasks: [mail], pools: { mail: { processes: 2 } }, alerts: { backlog: 2 },
  })`
const mail = defineTask({ name: 'mail', run: async () => 1 })

function project(config = CONFIG): string {
  return folderWith({ 'gleaner.config.ts': config })
}

async function opened(folder: string): Promise<Store> {
  const store = await openStore(`sqlite:${join(folder, 'app.db')}`)
  onTestFinished(() => store.close())
  return store
}

describe('gleaner init', () => {
  test.each([
    ['{ "type": "module" }', [], 'ts'],
    ['{ "type": "module" }', ['--js'], 'js'],
    ['{ "type": "commonjs" }', [], 'mjs'],
    ['{}', ['--js'], 'mjs'],
  ])('in a package %s with %j writes files that end in .%s', async (manifest, args, ending) => {
    const folder = folderWith({})
    writeFileSync(join(folder, 'package.json'), manifest)
    const { code, stdout } = await gleaner(folder, 'init', ...args)
    expect(code).toBe(0)
    expect(stdout).toContain(`wrote gleaner.config.${ending}\nwrote tasks.${ending}\n`)
    expect(readFileSync(join(folder, `gleaner.config.${ending}`), 'utf8')).toContain(
      `from './tasks.${ending}'`,
    )
  })

  test('writes into a folder that it makes, and says how to go on', async () => {
    const folder = folderWith({})
    const { stdout } = await gleaner(folder, 'init', 'jobs')
    expect(stdout).toContain('cd jobs && npx gleaner dev')
    expect(readdirSync(join(folder, 'jobs')).sort()).toEqual(['gleaner.config.ts', 'tasks.ts'])
  })

  test.each([['gleaner.config.mjs'], ['tasks.ts']])(
    'overwrites nothing, and writes nothing beside %s',
    async (name) => {
      const folder = folderWith({ [name]: 'mine' })
      const before = readdirSync(folder)
      const { code, stderr } = await gleaner(folder, 'init')
      expect(code).toBe(1)
      expect(stderr).toMatch(new RegExp(`has ${name} already\\.?\nNothing was written`))
      expect(readdirSync(folder)).toEqual(before)
      expect(readFileSync(join(folder, name), 'utf8')).toBe('mine')
    },
  )
})

describe('gleaner status', () => {
  test('shows supervisors, workers, why one was given up, queues and alerts', async () => {
    const folder = project()
    const store = await opened(folder)
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [mail] })
    onTestFinished(() => app.close())
    for (let i = 0; i < 3; i++) await app.enqueue(mail)
    const term = await store.sessions.takeLeadership('main', identifySelf(), null)
    const now = Date.now()
    const record = {
      pool: 'mail',
      host: 'here',
      incarnation: 1,
      phase: null,
      current: [],
      restarts: { recent: 0, total: 0 },
      lastExit: null,
      rss: null,
      loopLagMs: null,
      lastFrameAt: now,
    }
    const states = [
      {
        record: {
          ...record,
          id: 'worker:mail:0',
          status: 'running',
          health: 'healthy',
          phase: 'processing',
          reason: 'waits for gpu: no VRAM',
          pid: 4711,
          rss: 80 * 2 ** 20,
          current: [{ item: 'mail/7', since: now - 3_000, deadline: null }],
        },
      },
      {
        record: {
          ...record,
          id: 'worker:mail:1',
          status: 'failed',
          health: 'failed',
          pid: null,
          restarts: { recent: 5, total: 5 },
          lastExit: {
            at: now,
            code: 1,
            signal: null,
            reason: '5 crashes within 5 min',
            phase: null,
            rss: null,
          },
        },
      },
    ]
    await store.sessions.report({
      name: 'main',
      term: term!,
      workers: JSON.stringify(states),
      handled: null,
      leaving: false,
    })

    const { code, stdout, stderr } = await gleaner(folder, 'status')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`supervisor main: pid ${process.pid} on `))
    expect(stdout).toMatch(
      /^worker:mail:0 {2}running {2}healthy {2}4711 {3}80 MB {9}0 {2}mail\/7 for 3\.\d s$/m,
    )
    expect(stdout).toMatch(/^worker:mail:1 {2}failed .*\b5 {2}failed$/m)
    expect(stdout).toContain('\n  worker:mail:0 backs off: waits for gpu: no VRAM\n')
    expect(stdout).toContain(
      'worker:mail:1 was given up: 5 crashes within 5 min (exit code 1). Fix the cause, then run `gleaner resume`',
    )
    expect(stdout).toMatch(/^default +3 +0 +0 +0 +0 +0 +0$/m)
    expect(stdout).toMatch(
      /2 alerts\n {2}3 waiting in default that no live worker serves: mail\n {4}Start a worker/,
    )
    expect(stdout).toContain('3 wait in default, more than 2')

    const json = JSON.parse((await gleaner(folder, 'status', '--json')).stdout)
    expect(json).toMatchObject({
      supervisors: [{ name: 'main', running: true, pid: process.pid }],
      workers: [
        { id: 'worker:mail:0' },
        { id: 'worker:mail:1', lastExit: { reason: '5 crashes within 5 min' } },
      ],
      queues: [{ name: 'default', queued: 3, paused: false }],
      alerts: [{ kind: 'unserved' }, { kind: 'backlog' }],
    })
  })

  test('shows discoveries, and raises an alert for rows that nobody serves', async () => {
    const folder = project()
    const db = new Database(join(folder, 'app.db'))
    onTestFinished(() => void db.close())
    db.exec(
      'CREATE TABLE files (id INTEGER PRIMARY KEY, tagged INTEGER); INSERT INTO files (tagged) VALUES (0), (0), (1)',
    )
    const files = defineDiscovery({
      name: 'tag-files',
      table: 'files',
      key: 'id',
      where: 'tagged = 0',
      done: () => ({ tagged: 1 }),
    })
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, discoveries: [files] })
    onTestFinished(() => app.close())
    const { stdout } = await gleaner(folder, 'status')
    expect(stdout).toMatch(/^tag-files +2 +0 +0 +0 +0$/m)
    expect(stdout).toContain('rows of tag-files wait, and no live worker serves this discovery')
    await app.discoveries.pause('tag-files')
    const paused = JSON.parse((await gleaner(folder, 'status', '--json')).stdout)
    expect(paused).toMatchObject({
      discoveries: [{ name: 'tag-files', waiting: 2, paused: true }],
      alerts: [],
    })
  })

  test('shows workers that have no supervisor', async () => {
    const folder = project()
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [mail] })
    onTestFinished(() => app.close())
    const worker = app.work()
    await worker.drained()
    const { stdout } = await gleaner(folder, 'status')
    expect(stdout).toMatch(
      new RegExp(`^${worker.id} +running +healthy +${process.pid} .*\\(no supervisor\\)$`, 'm'),
    )
  })

  test('does not show a worker whose process is dead for certain', async () => {
    const folder = project()
    const store = await opened(folder)
    const dead = { ...identifySelf(), startTime: '1' }
    const nothing = { queues: [], names: [], capabilities: {} }
    await store.sessions.openSession({ worker: 'worker:dead:0', process: dead, ...nothing })
    await store.sessions.openSession({ worker: 'worker:alive:0', process: identifySelf(), ...nothing })
    const { workers } = JSON.parse((await gleaner(folder, 'status', '--json')).stdout)
    expect(workers.map(({ id }: { id: string }) => id)).toEqual(['worker:alive:0'])
  })

  test('of a config that is wrong says what to do', async () => {
    const { code, stderr } = await gleaner(project('export default { database: "app.db" }'), 'status')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^error: .*gleaner\.config\.ts: database: this is not a database URL\.?\nUse 'sqlite:/,
    )
  })
})

test.each([['status'], ['pause'], ['resume'], ['workers'], ['tasks'], ['queues'], ['check'], ['prune']])(
  'gleaner %s makes no database that is missing, and says who does',
  async (name) => {
    const folder = project()
    const before = readdirSync(folder)
    const { code, stdout, stderr } = await gleaner(folder, name)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^error: there is no database sqlite:.*app\.db\n`gleaner start` or `gleaner migrate` creates it/,
    )
    expect(readdirSync(folder)).toEqual(before)
    // A database of the app's own, without our tables, stays as it is.
    const db = new Database(join(folder, 'app.db'))
    db.exec('CREATE TABLE mine (id INTEGER)')
    db.close()
    expect((await gleaner(folder, name)).stderr).toMatch(/does not have Gleaner's tables/)
    const again = new Database(join(folder, 'app.db'))
    onTestFinished(() => void again.close())
    expect(again.prepare('SELECT name FROM sqlite_schema').pluck().all()).toEqual(['mine'])
  },
)

describe('gleaner pause and resume', () => {
  test('stop and begin a queue, and everything', async () => {
    const folder = project()
    const store = await opened(folder)
    const paused = async () =>
      (await store.admin.listQueues()).filter((queue) => queue.paused).map(({ name }) => name)
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [mail] })
    onTestFinished(() => app.close())
    await app.enqueue(mail)
    await app.enqueue(mail, undefined, { queue: 'other' })

    expect((await gleaner(folder, 'pause', 'default')).stdout).toBe('queue default is paused\n')
    expect(await paused()).toEqual(['default'])
    expect((await gleaner(folder, 'pause', '--json')).stdout).toBe(
      '{\n  "queue": null,\n  "paused": true\n}\n',
    )
    expect(await paused()).toEqual(['default', 'other'])
    expect((await gleaner(folder, 'resume')).stdout).toBe('everything is resumed\n')
    expect(await paused()).toEqual(['default'])
    expect((await gleaner(folder, 'resume', 'default')).stdout).toBe('queue default is resumed\n')
    expect(await paused()).toEqual([])
  })

  test('of a queue that nobody knows say so, and whether another was meant', async () => {
    const folder = project()
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [mail] })
    onTestFinished(() => app.close())
    await app.enqueue(mail)
    const { code, stderr } = await gleaner(folder, 'pause', 'defualt')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'note: the queue defualt has never had a task; did you mean default?\n',
    })
    expect(await gleaner(folder, 'pause', 'a b')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not a name'),
    })
  })

  test('without a queue leave workers alone that are paused by their ids, and revive those given up', async () => {
    const folder = project()
    const store = await opened(folder)
    await store.sessions.takeLeadership('main', identifySelf(), null)
    await gleaner(folder, 'pause')
    await gleaner(folder, 'resume')
    expect((await store.sessions.commandsFor('main')).map(({ action, worker }) => [action, worker])).toEqual([
      ['revive', null],
    ])
  })
})

describe('gleaner workers', () => {
  test('tells supervisors what to do with one worker, if there is such a one', async () => {
    const folder = project()
    const store = await opened(folder)
    expect(await gleaner(folder, 'workers')).toMatchObject({ code: 0, stdout: 'no workers\n' })
    expect(await gleaner(folder, 'workers', 'restart')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no supervised worker uses this database'),
    })
    const term = await store.sessions.takeLeadership('main', identifySelf(), null)
    const record = {
      id: 'worker:mail:0',
      pool: 'mail',
      restarts: {},
      current: [],
      rss: null,
      pid: 1,
      status: 'running',
      health: 'healthy',
      host: 'h',
    }
    await store.sessions.report({
      name: 'main',
      term: term!,
      workers: JSON.stringify([{ record }]),
      handled: null,
      leaving: false,
    })
    expect(await gleaner(folder, 'workers', 'pause', 'worker:mail:1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Did you mean worker:mail:0?'),
    })
    expect((await gleaner(folder, 'workers', 'pause', 'worker:mail:0')).code).toBe(0)
    expect(await store.sessions.commandsFor('main')).toMatchObject([
      { action: 'pause', worker: 'worker:mail:0' },
    ])
  })
})

describe('gleaner doctor', () => {
  test('is content with a project that is well, and leaves everything as it is', async () => {
    const folder = project()
    const { code, stdout } = await gleaner(folder, 'doctor')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ok {3}Node\.js: \d+/)
    expect(stdout).toMatch(/ok {3}config: .*: 1 task, 1 pool\n/)
    expect(stdout).toMatch(
      /note database: .*does not have Gleaner's tables yet \(SQLite [\d.]+\)\n {5}The first start creates them\.\n$/,
    )
    expect(existsSync(join(folder, 'app.db'))).toBe(false)
    await opened(folder)
    expect((await gleaner(folder, 'doctor')).stdout).toMatch(
      /ok {3}database: .*app\.db \(SQLite [\d.]+, version \d+\)\nok {3}load: 0 % busy, 0 writes a second in the last hour\n$/,
    )
  })

  test.each([
    [
      'a config that is wrong',
      'export default {}',
      /bad {2}config: .*database: undefined.*\n {5}Set it to 'sqlite:/,
    ],
    [
      'a program that is not there',
      `export default { database: 'sqlite:./app.db', pools: { py: { command: ['no-such-program'], queues: ['py'] } } }`,
      /bad {2}pool py: no-such-program was not found\n/,
    ],
    [
      'a folder that is not there',
      `export default { database: 'sqlite:./data/app.db' }`,
      /bad {2}database: .*data does not exist\n {5}Create the folder/,
    ],
    [
      'a database in memory',
      `export default { database: 'sqlite::memory:' }`,
      /bad {2}database: a database in memory cannot be shared/,
    ],
    [
      'a server that does not answer',
      `export default { database: 'postgres://user:secret@127.0.0.1:1/app' }`,
      /bad {2}database: (?!.*secret)/,
    ],
  ])('finds %s, and ends with 1', async (_what, config, expected) => {
    const { code, stdout } = await gleaner(project(config), 'doctor')
    expect(code).toBe(1)
    expect(stdout).toMatch(expected)
  })

  test('finds a file that is no database, and one that nobody may write', async () => {
    const folder = project()
    writeFileSync(
      join(folder, 'app.db'),
      'this is no database, but a text that is long enough to be taken for one',
    )
    expect((await gleaner(folder, 'doctor')).stdout).toMatch(/bad {2}database: /)
  })

  test('says which index a discovery lacks, and how to give its table a version', async () => {
    const folder = project(`import { defineDiscovery } from ${GLEANER}
      const files = defineDiscovery({ name: 'tag-files', table: 'files', key: 'id', where: 'tagged = 0', run() {}, done: () => ({ tagged: 1 }) })
      export default { database: 'sqlite:./app.db', discoveries: [files] }`)
    await opened(folder)
    const missing = await gleaner(folder, 'doctor')
    expect(missing.code).toBe(1)
    expect(missing.stdout).toMatch(/bad {2}discoveries: .*files/)
    const db = new Database(join(folder, 'app.db'))
    onTestFinished(() => void db.close())
    db.exec('CREATE TABLE files (id INTEGER PRIMARY KEY, tagged INTEGER)')
    const { code, stdout } = await gleaner(folder, 'doctor')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /note discovery tag-files: to find its rows, the database reads others as well. Create this index:\n {5}CREATE INDEX /,
    )
    expect(stdout).toMatch(
      /note discovery tag-files: its table has no version column.*\n {5}.*\n?[\s\S]*CREATE TRIGGER/,
    )
    // What it advises works, and is enough.
    const [, index] = /(CREATE INDEX [^\n]+)/.exec(stdout)!
    db.exec(index!)
    expect((await gleaner(folder, 'doctor')).stdout).toContain(
      'ok   discovery tag-files: an index finds its rows',
    )
  })

  test('says when a SQLite file is outgrown, and how to move', async () => {
    const folder = project()
    await opened(folder)
    const db = new Database(join(folder, 'app.db'))
    const minute = Math.floor(Date.now() / 60_000) * 60_000
    const busy = JSON.stringify([
      ['writes', 300_000],
      ['busy-us', 3_000_000_000],
    ])
    db.prepare(
      "INSERT INTO gleaner_minutes (minute, queue, name, enqueued, completed, failed, retried, durations, incidents) VALUES (?, ':database', 'lock', 0, 0, 0, 0, '[]', ?)",
    ).run(minute, busy)
    db.close()
    const { code, stdout } = await gleaner(folder, 'doctor')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /note load: processes held its write lock 8\d % of the last hour\n {5}PostgreSQL .*gleaner copy --to/,
    )
  })

  test('notes tasks that no pool serves', async () => {
    const config = CONFIG.replace('{ processes: 2 }', "{ queues: ['other'] }")
    const { code, stdout } = await gleaner(project(config), 'doctor', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toContainEqual({
      what: 'task mail',
      state: 'note',
      detail: 'no pool serves its queue default',
      fix: 'Add default to the queues of a pool.',
    })
  })
})
