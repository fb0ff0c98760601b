import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { identifySelf, type ProcessIdentity } from '../../../src/process-identity.ts'
import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { fromPostgres } from '../../../src/store/sqlite/migrations/from-postgres.ts'
import { migrations } from '../../../src/store/sqlite/migrations/index.ts'
import { migrate } from '../../../src/store/sqlite/migrations/migrate.ts'
import { newTask } from '../../conformance/world.ts'
import { Child } from './children/child.ts'
import { connect, freshPath, openStore } from './folder.ts'

const MIGRATOR = import.meta.resolve('./children/migrator.ts')
const LATEST = migrations.at(-1)!.version

function versionOf(path: string): unknown {
  return connect(path).prepare('SELECT max(version) FROM gleaner_migrations').pluck().get()
}

function ownObjects(path: string): string[] {
  return connect(path)
    .prepare(`SELECT name FROM sqlite_schema WHERE name LIKE 'gleaner%' ORDER BY name`)
    .pluck()
    .all() as string[]
}

/** A file as the version before this one left it, with a worker that may still run. */
async function fileOfOlderVersion(worker?: { name: string; process: ProcessIdentity }): Promise<string> {
  const path = freshPath()
  const connection = new Connection(path)
  await connection.configure()
  await migrate(connection, Date.now, migrations.slice(0, 1))
  if (worker !== undefined) {
    const { name, process } = worker
    const { host, boot, pid, startTime } = process
    connection.raw
      .prepare(`INSERT INTO gleaner_sessions (worker, host, boot, pid, start_time, queues, names, capabilities, discoveries, opened_at, renewed_at)
                VALUES (?, ?, ?, ?, ?, '[]', '[]', '{}', '[]', ?, ?)`)
      .run(name, host, boot, pid, startTime, Date.now(), Date.now())
  }
  connection.close()
  return path
}

test('a migration that is written once has the types and names of SQLite', () => {
  const both = `
CREATE TABLE gleaner.a (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  text_of text, -- of gleaner.b
  is_on boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE TABLE gleaner.b (
  name text PRIMARY KEY,
  share double precision
);
CREATE UNIQUE INDEX b_share ON gleaner.b (share) WHERE share > 0;
`
  expect(fromPostgres(both)).toBe(`
CREATE TABLE gleaner_a (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text_of TEXT, -- of gleaner_b
  is_on INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE gleaner_b (
  name TEXT PRIMARY KEY,
  share REAL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX gleaner_b_share ON gleaner_b (share) WHERE share > 0;
`)
})

describe('a migration that is killed half-way', () => {
  test('leaves the old version, with everything in it', async () => {
    const path = freshPath()
    const store = await openStore(path)
    const [task] = await store.tasks.enqueue([newTask({ input: '"precious"' })])
    await store.close()
    const before = ownObjects(path)

    const migrator = new Child(MIGRATOR, path, String(LATEST + 1))
    await migrator.says('half-way')
    await migrator.kill()

    expect(versionOf(path)).toBe(LATEST)
    expect(ownObjects(path)).toEqual(before)
    expect(connect(path).pragma('integrity_check', { simple: true })).toBe('ok')
    const again = await openStore(path)
    expect(await again.tasks.getTask(task!.id)).toMatchObject({ input: 'precious', status: 'queued' })
  })

  test.each(migrations.map(({ version }) => version))(
    'leaves nothing of the first one on a new file, when it dies at version %i',
    async (version) => {
      const path = freshPath()
      const migrator = new Child(MIGRATOR, path, String(version))
      await migrator.says('half-way')
      await migrator.kill()
      expect(ownObjects(path)).toEqual([])
      const store = await openStore(path)
      expect(await store.tasks.enqueue([newTask()])).toMatchObject([{ created: true }])
      expect(versionOf(path)).toBe(LATEST)
    },
  )

  test('leaves the new version when it dies right after the commit', async () => {
    const path = freshPath()
    await (await openStore(path)).close()
    const migrator = new Child(MIGRATOR, path, 'never')
    await migrator.says('migrated')
    await migrator.kill()
    expect(versionOf(path)).toBe(LATEST + 1)
    expect(ownObjects(path)).toContain('gleaner_future')
  })
})

describe('a database from a newer version', () => {
  test('is refused with what to do, and left as it is', async () => {
    const path = freshPath()
    await (await openStore(path)).close()
    const raw = connect(path)
    raw.prepare(`INSERT INTO gleaner_migrations VALUES (?, 'future', 0)`).run(LATEST + 97)
    const before = ownObjects(path)
    await expect(openStore(path)).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringMatching(new RegExp(`version ${LATEST + 97}.*up to ${LATEST}`)),
      hint: expect.stringMatching(/Update this package/),
    })
    expect(ownObjects(path)).toEqual(before)
  })
})

describe('a database from an older version', () => {
  test('is brought up to date when nobody works on it', async () => {
    const path = await fileOfOlderVersion()
    await openStore(path)
    expect(versionOf(path)).toBe(LATEST)
  })

  test('is refused while an older worker lives, and names it', async () => {
    const path = await fileOfOlderVersion({ name: 'worker:ml:0', process: identifySelf() })
    const before = ownObjects(path)
    await expect(openStore(path)).rejects.toMatchObject({
      code: 'STORE_MIGRATION',
      message: expect.stringMatching(new RegExp(`worker:ml:0 \\(pid ${process.pid} on `)),
      hint: expect.stringMatching(/Stop them/),
    })
    expect(versionOf(path)).toBe(1)
    expect(ownObjects(path)).toEqual(before)

    connect(path).prepare('UPDATE gleaner_sessions SET ended_at = 1').run()
    await openStore(path)
    expect(versionOf(path)).toBe(LATEST)
  })

  test('is brought up to date when its worker is proved dead', async () => {
    const { pid } = spawnSync(process.execPath, ['--version'])
    const dead = { ...identifySelf(), pid, startTime: '1' }
    const path = await fileOfOlderVersion({ name: 'worker:ml:0', process: dead })
    await openStore(path)
    expect(versionOf(path)).toBe(LATEST)
  })

  test('is refused while a worker of another machine may live', async () => {
    const elsewhere = { ...identifySelf(), host: 'another-machine', boot: 'another-boot/pid:[1]' }
    const path = await fileOfOlderVersion({ name: 'worker:far:0', process: elsewhere })
    await expect(openStore(path)).rejects.toMatchObject({
      code: 'STORE_MIGRATION',
      message: expect.stringContaining('worker:far:0'),
    })
    // Nobody may be left who could end its session.
    connect(path).prepare('UPDATE gleaner_sessions SET renewed_at = renewed_at - 300000').run()
    await openStore(path)
    expect(versionOf(path)).toBe(LATEST)
  })
})

test('stores that open a new file at the same time all find it ready', async () => {
  const path = freshPath()
  const stores = await Promise.all(Array.from({ length: 5 }, () => openStore(path)))
  for (const store of stores) await store.tasks.enqueue([newTask()])
  expect(await stores[0]!.tasks.countTasks({})).toMatchObject({ queued: 5 })
})

test("an app's own tables, user_version and application_id in the same file are untouched", async () => {
  const path = freshPath()
  const raw = connect(path)
  raw.exec(`CREATE TABLE songs (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO songs VALUES (1, 'Blue');
            CREATE INDEX songs_title ON songs (title); CREATE VIEW loud AS SELECT upper(title) AS t FROM songs;`)
  raw.pragma('user_version = 7')
  raw.pragma('application_id = 4242')
  const store = await openStore(path)
  await store.tasks.enqueue([newTask()])
  expect(raw.prepare('SELECT t FROM loud').pluck().all()).toEqual(['BLUE'])
  expect(raw.pragma('user_version', { simple: true })).toBe(7)
  expect(raw.pragma('application_id', { simple: true })).toBe(4242)
  const others = raw.prepare(`SELECT name FROM sqlite_schema WHERE name NOT GLOB 'gleaner_*' ORDER BY name`)
  const names = others.pluck().all() as string[]
  expect(names.filter((name) => !name.startsWith('sqlite_'))).toEqual(['loud', 'songs', 'songs_title'])
})
