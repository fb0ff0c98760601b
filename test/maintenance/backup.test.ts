import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { type Gleaner, openGleaner, type TaskEvent } from '../../src/index.ts'
import { copyDatabaseFile } from '../../src/store/sqlite/maintenance/backup.ts'
import { type Place, test } from '../journeys/place.ts'
import { patient, quick, tasks } from '../journeys/tasks.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')

/** What the folder holds beside the database. */
function others(place: Place): string[] {
  return readdirSync(place.folder).filter((name) => !name.startsWith('app.db'))
}

function eventOf(gleaner: Gleaner, event: 'started'): Promise<TaskEvent> {
  return new Promise((resolve) => gleaner.on(event, resolve))
}

async function openCopy(place: Place, path: string): Promise<Gleaner> {
  return place.open({ database: `sqlite:${path}`, tasks })
}

describe('a backup', () => {
  test('holds all that was acknowledged before it, and the tables of the app as they are', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    const app = place.connect()
    app.exec('CREATE TABLE notes (text TEXT)')
    for (const text of ['a', 'b', 'c']) app.prepare('INSERT INTO notes VALUES (?)').run(text)
    app.exec(`DELETE FROM notes WHERE text = 'b'`)
    const handles = await gleaner.enqueueMany(quick, [1, 2, 3])
    const path = join(place.folder, 'copy.db')
    const backup = await gleaner.maintenance.backup(path)
    expect(backup).toMatchObject({ path, bytes: expect.any(Number), startedAt: expect.any(Number) })
    const copy = await openCopy(place, path)
    for (const { id } of handles) expect((await copy.tasks.get(id))?.status).toBe('queued')
    expect(await copy.maintenance.check()).toEqual([])
    // Rows without a key of their own keep their numbers, by which an index of the app's may know them.
    expect(place.connect(path).prepare('SELECT rowid, text FROM notes').all()).toEqual([
      { rowid: 1, text: 'a' },
      { rowid: 3, text: 'c' },
    ])
  })

  test('has its name only when it is whole, and tells how far it is', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    await gleaner.enqueueMany(quick, Array(30_000).fill(1))
    const path = join(place.folder, 'copy.db')
    const seen: [phase: string, fraction: number][] = []
    await gleaner.maintenance.backup(path, {
      onProgress({ phase, fraction }) {
        seen.push([phase, fraction])
        if (fraction < 1) expect(existsSync(path)).toBe(false)
      },
    })
    expect(seen.map(([phase]) => phase)).toContain('verifying')
    expect(seen.filter(([phase]) => phase === 'copying').length).toBeGreaterThan(2)
    expect(seen.at(-1)).toEqual(['verifying', 1])
    expect(others(place)).toEqual(['copy.db'])
  })

  test('is of one moment, although another connection writes between any two pages', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const app = place.connect()
    app.exec('CREATE TABLE first (n); INSERT INTO first VALUES (0)')
    await gleaner.enqueueMany(quick, Array(30_000).fill(1))
    app.exec('CREATE TABLE last (n); INSERT INTO last VALUES (0)')
    const path = join(place.folder, 'copy.db')
    let writes = 0
    const chore = { kind: 'backup', database: place.file, path, overwrite: false, now: Date.now() } as const
    await copyDatabaseFile(chore, () => {
      writes += 1
      // It would begin again and again.
      if (writes > 50) throw new Error('it does not come to its end')
      app.exec('UPDATE first SET n = n + 1; UPDATE last SET n = n + 1')
    })
    expect(writes).toBeGreaterThan(3)
    expect(place.connect(path).prepare('SELECT first.n, last.n AS l FROM first, last').get()).toEqual({
      n: 0,
      l: 0,
    })
  })

  test('replaces nothing that came meanwhile, either', async ({ place }) => {
    await place.open({ tasks })
    const path = join(place.folder, 'copy.db')
    const chore = { kind: 'backup', database: place.file, path, overwrite: false, now: Date.now() } as const
    const making = copyDatabaseFile(chore, () => writeFileSync(path, 'faster'))
    await expect(making).rejects.toMatchObject({ code: 'BACKUP_EXISTS' })
    expect(readFileSync(path, 'utf8')).toBe('faster')
    expect(others(place)).toEqual(['copy.db'])
  })

  test('is made although a listener throws, and the caller is told', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const path = join(place.folder, 'copy.db')
    const onProgress = () => {
      throw new Error('of the listener')
    }
    await expect(gleaner.maintenance.backup(path, { onProgress })).rejects.toThrow('of the listener')
    expect(others(place)).toEqual(['copy.db'])
  })

  test('lets the event loop turn', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    await gleaner.enqueueMany(quick, Array(30_000).fill(1))
    let turns = 0
    let isDone = false
    const count = () => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    count()
    await gleaner.maintenance.backup(join(place.folder, 'copy.db'))
    isDone = true
    expect(turns).toBeGreaterThan(100)
  })

  test('replaces nothing, unless it is told to', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const path = join(place.folder, 'copy.db')
    await gleaner.maintenance.backup(path)
    const handle = await gleaner.enqueue(quick, 1)
    await expect(gleaner.maintenance.backup(path)).rejects.toMatchObject({ code: 'BACKUP_EXISTS' })
    await gleaner.maintenance.backup(path, { overwrite: true })
    const copy = await openCopy(place, path)
    expect(await copy.tasks.get(handle.id)).not.toBeNull()
    expect(others(place).filter((name) => name.includes('partial'))).toEqual([])
  })

  test('never takes the place of the database itself, or of one that is open', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(quick, 1)
    for (const suffix of ['', '-wal', '-shm']) {
      await expect(
        gleaner.maintenance.backup(`${place.file}${suffix}`, { overwrite: true }),
      ).rejects.toMatchObject({
        code: 'BACKUP_EXISTS',
        message: expect.stringContaining('the database itself'),
      })
    }
    const path = join(place.folder, 'copy.db')
    await gleaner.maintenance.backup(path)
    const copy = await openCopy(place, path)
    await expect(gleaner.maintenance.backup(path, { overwrite: true })).rejects.toMatchObject({
      code: 'BACKUP_EXISTS',
      hint: expect.stringContaining('open'),
    })
    expect(await copy.tasks.get(handle.id)).not.toBeNull()
    expect(await gleaner.tasks.get(handle.id)).not.toBeNull()
  })

  test('of a log that belonged to another file is not made: it would be read as its own', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    const path = join(place.folder, 'copy.db')
    writeFileSync(`${path}-wal`, 'of a file that was moved away')
    await expect(gleaner.maintenance.backup(path)).rejects.toMatchObject({ code: 'BACKUP_EXISTS' })
  })

  test('gives back what workers hold that live on with the original, uncharged', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(patient)
    const started = eventOf(gleaner, 'started')
    gleaner.work()
    await started
    const path = join(place.folder, 'copy.db')
    await gleaner.maintenance.backup(path)
    const copy = await openCopy(place, path)
    expect(await copy.tasks.get(handle.id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(place.connect(path).prepare('SELECT count(*) FROM gleaner_workers').pluck().get()).toBe(0)
    // At once: its process lives, and would be believed for as long as it does.
    const again = eventOf(copy, 'started')
    copy.work()
    expect(await again).toMatchObject({ id: handle.id, attempt: 1 })
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'running', attempts: 1 })
    expect(await gleaner.maintenance.check()).toEqual([])
    await Promise.all([gleaner, copy].map((each) => each.tasks.cancel(handle.id)))
  })

  test('that cannot be written leaves nothing behind, and says why', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    await gleaner.enqueueMany(quick, Array(30_000).fill(1))
    await gleaner.close()
    const path = join(place.folder, 'copy.db')
    // No file may grow beyond a megabyte: as on a disk that is full, a write fails in the middle.
    const limited = ['bash', '-c', 'ulimit -f 1024; exec "$@"', '--']
    const child = place.start(join(PROGRAMS, 'backup.ts'), { path }, {}, limited)
    const { code, message } = await child.hears('failed')
    expect(['STORE_FULL', 'STORE_FAILED'], message).toContain(code)
    expect(await child.ended).toMatchObject({ code: 0 })
    expect(others(place)).toEqual([])
    expect(await (await place.open({ tasks })).maintenance.check()).toEqual([])
  })

  test('removes what a killed one left behind, and leaves what another is making', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const path = join(place.folder, 'copy.db')
    const partial = (pid: number) => `copy.db.partial-${hostname().replaceAll(/\W/g, '_')}-${pid}-0badcafe`
    const { pid: dead } = spawnSync('true')
    for (const name of [partial(dead), `${partial(dead)}-journal`, partial(process.pid)])
      writeFileSync(join(place.folder, name), '')
    await gleaner.maintenance.backup(path)
    expect(others(place)).toEqual(['copy.db', partial(process.pid)])
  })

  test('is finished before Gleaner is closed', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    await gleaner.enqueueMany(quick, Array(5_000).fill(1))
    const path = join(place.folder, 'copy.db')
    const making = gleaner.maintenance.backup(path)
    await gleaner.close()
    await making
    expect(await (await openCopy(place, path)).tasks.counts()).toMatchObject({ queued: 5_000 })
    await expect(gleaner.maintenance.backup(`${path}2`)).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('to nowhere, of memory, or with what is no option is refused', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const { maintenance } = gleaner
    await expect(maintenance.backup(join(place.folder, 'no', 'copy.db'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      hint: 'Create it first.',
    })
    mkdirSync(join(place.folder, 'folder'))
    await expect(maintenance.backup(join(place.folder, 'folder'), { overwrite: true })).rejects.toMatchObject(
      { code: 'STORE_FAILED' },
    )
    for (const path of ['', undefined, 7, 'a\0b'] as string[])
      await expect(maintenance.backup(path)).rejects.toMatchObject({ code: 'BAD_OPTION' })
    for (const options of [{ overwrite: 'yes' }, { compress: true }] as object[])
      await expect(maintenance.backup('x.db', options)).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect(others(place)).toEqual(['folder'])
    const memory = await openGleaner({ database: 'sqlite::memory:', tasks })
    await expect(memory.maintenance.backup(join(place.folder, 'x.db'))).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
    })
    await memory.close()
  })
})
