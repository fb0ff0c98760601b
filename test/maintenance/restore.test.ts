import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect } from 'vitest'
import { openGleaner, restoreBackup } from '../../src/index.ts'
import { type Place, test } from '../journeys/place.ts'
import { quick, tasks } from '../journeys/tasks.ts'

/** A backup with one task, and the database that has gone on since: another task, and its log. */
async function backedUp(place: Place): Promise<{ path: string; before: string; since: string }> {
  const gleaner = await place.open({ tasks })
  const before = await gleaner.enqueue(quick, 1)
  const path = join(place.folder, 'copy.db')
  await gleaner.maintenance.backup(path)
  const since = await gleaner.enqueue(quick, 2)
  await gleaner.close()
  return { path, before: before.id, since: since.id }
}

/** Of the ids of its tasks, on a connection of our own. */
function idsIn(file: string): string[] {
  const db = new Database(file)
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    return (db.prepare('SELECT id FROM gleaner_tasks ORDER BY id').pluck().all() as number[]).map(String)
  } finally {
    db.close()
  }
}

describe('restoring', () => {
  test('brings back what was at the time of the backup', async ({ place }) => {
    const { path, before, since } = await backedUp(place)
    expect(idsIn(place.file)).toEqual([before, since])
    await restoreBackup(path, { database: place.database })
    expect(idsIn(place.file)).toEqual([before])
    const gleaner = await place.open({ tasks })
    await gleaner.work().drained()
    expect(await gleaner.tasks.counts()).toMatchObject({ completed: 1, queued: 0 })
    expect(await gleaner.maintenance.check()).toEqual([])
  })

  test('into a place where there is no database makes one, and nothing else', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const folder = mkdtempSync(join(place.folder, 'new-'))
    const progress: string[] = []
    await restoreBackup(path, {
      database: `sqlite:${join(folder, 'app.db')}`,
      onProgress: ({ phase, fraction }) => progress.push(`${phase} ${fraction}`),
    })
    expect(progress).toContain('verifying 1')
    expect(progress.at(-1)).toBe('copying 1')
    expect(readdirSync(folder)).toEqual(['app.db'])
    expect(idsIn(join(folder, 'app.db'))).toEqual([before])
  })

  test('with an open Gleaner checks the backup, closes it, and replaces its database', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const gleaner = await place.open({ tasks })
    writeFileSync(join(place.folder, 'bad.db'), 'not a database')
    await expect(gleaner.maintenance.restore(join(place.folder, 'bad.db'))).rejects.toMatchObject({
      code: 'BACKUP_BAD',
    })
    // Still open: nothing was wrong with it.
    const handle = await gleaner.enqueue(quick, 3)
    await gleaner.work().drained()
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'completed' })
    await gleaner.maintenance.restore(path)
    await expect(gleaner.enqueue(quick, 4)).rejects.toMatchObject({ code: 'CLOSED' })
    expect(idsIn(place.file)).toEqual([before])
  })

  test('is refused while another process has it open, and changes nothing', async ({ place }) => {
    const { path, before, since } = await backedUp(place)
    const child = place.start('worker.ts')
    await child.hears('completed', ({ id }) => id === since)
    await expect(restoreBackup(path, { database: place.database })).rejects.toMatchObject({
      code: 'STORE_IN_USE',
      hint: expect.stringContaining('nothing was changed'),
    })
    expect(child.alive).toBe(true)
    await child.kill()
    expect(idsIn(place.file)).toEqual([before, since])
    await restoreBackup(path, { database: place.database })
    expect(idsIn(place.file)).toEqual([before])
  })

  test('is refused while this process has it open', async ({ place }) => {
    const { path, before, since } = await backedUp(place)
    const gleaner = await place.open({ tasks })
    await expect(restoreBackup(path, { database: place.database })).rejects.toMatchObject({
      code: 'STORE_IN_USE',
    })
    const other = await place.open({ tasks })
    // It closes itself, but not the other one.
    await expect(gleaner.maintenance.restore(path)).rejects.toMatchObject({ code: 'STORE_IN_USE' })
    expect(await other.tasks.get(since)).not.toBeNull()
    await other.close()
    expect(idsIn(place.file)).toEqual([before, since])
  })

  test('is refused while a SQL client merely looks', async ({ place }) => {
    const { path, before, since } = await backedUp(place)
    const client = place.connect()
    expect(client.prepare('SELECT count(*) FROM gleaner_tasks').pluck().get()).toBe(2)
    await expect(restoreBackup(path, { database: place.database })).rejects.toMatchObject({
      code: 'STORE_IN_USE',
    })
    client.close()
    expect(idsIn(place.file)).toEqual([before, since])
  })

  test('does not let the log of a killed process into the new database', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const child = place.start('worker.ts')
    await child.hears('completed')
    await child.kill()
    expect(existsSync(`${place.file}-wal`)).toBe(true)
    await restoreBackup(path, { database: place.database })
    expect(existsSync(`${place.file}-wal`)).toBe(false)
    expect(idsIn(place.file)).toEqual([before])
    const gleaner = await place.open({ tasks })
    expect(await gleaner.tasks.get(before)).toMatchObject({ status: 'queued' })
  })

  test('does not let a log without its database into the new one', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const child = place.start('worker.ts')
    await child.hears('completed')
    await child.kill()
    const lost = join(mkdtempSync(join(place.folder, 'lost-')), 'app.db')
    copyFileSync(`${place.file}-wal`, `${lost}-wal`)
    await restoreBackup(path, { database: `sqlite:${lost}` })
    expect(idsIn(lost)).toEqual([before])
    expect(place.connect(lost).prepare('SELECT status FROM gleaner_tasks').pluck().all()).toEqual(['queued'])
  })

  test('makes whoever comes meanwhile wait, and see the new database', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const child = place.start(join(import.meta.dirname, 'programs', 'restore-slowly.ts'), { path })
    await child.hears('copying')
    const opening = openGleaner({ database: place.database, tasks })
    child.tell('go')
    await child.hears('restored')
    const gleaner = await opening
    expect((await gleaner.tasks.list()).items.map(({ id }) => id)).toEqual([before])
    expect(await gleaner.maintenance.check()).toEqual([])
    await gleaner.close()
  })

  test('refuses what is damaged, of another program, newer, or not there; and changes nothing', async ({
    place,
  }) => {
    const { path, before, since } = await backedUp(place)
    const file = (name: string, content: Buffer | string = '') => {
      writeFileSync(join(place.folder, name), content)
      return join(place.folder, name)
    }
    const bytes = readFileSync(path)
    const torn = Buffer.from(bytes)
    torn.fill(0xab, 4_096 * 3, 4_096 * 5)
    const newer = file('newer.db', bytes)
    const foreign = file('foreign.db')
    edit(newer, `INSERT INTO gleaner_migrations VALUES (999, 'later', 0)`)
    edit(foreign, 'CREATE TABLE theirs (id)')
    for (const [bad, code] of [
      [file('torn.db', torn), 'BACKUP_BAD'],
      [file('short.db', bytes.subarray(0, bytes.length / 2)), 'BACKUP_BAD'],
      [file('text.db', 'no database at all'.repeat(100)), 'BACKUP_BAD'],
      [file('empty.db'), 'BACKUP_BAD'],
      [foreign, 'BACKUP_BAD'],
      [place.file, 'BACKUP_BAD'],
      [join(place.folder, 'nowhere.db'), 'BACKUP_BAD'],
      [newer, 'STORE_NEWER'],
    ] as const) {
      await expect(restoreBackup(bad, { database: place.database }), bad).rejects.toMatchObject({ code })
    }
    expect(idsIn(place.file)).toEqual([before, since])
    const nowhere = join(place.folder, 'new.db')
    await expect(restoreBackup(newer, { database: `sqlite:${nowhere}` })).rejects.toMatchObject({
      code: 'STORE_NEWER',
    })
    expect(existsSync(nowhere)).toBe(false)
  })

  test('leaves a database that cannot be read for somebody to look at', async ({ place }) => {
    const { path, before } = await backedUp(place)
    writeFileSync(place.file, 'scrambled'.repeat(1_000))
    await expect(restoreBackup(path, { database: place.database })).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      hint: expect.stringContaining('Move it away'),
    })
    expect(readFileSync(place.file, 'utf8')).toMatch(/^scrambled/)
    spawnSync('mv', [place.file, `${place.file}.damaged`])
    await restoreBackup(path, { database: place.database })
    expect(idsIn(place.file)).toEqual([before])
  })

  test('mends one that is damaged inside', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const bytes = readFileSync(place.file)
    bytes.fill(0xab, 4_096 * 3, 4_096 * 6)
    writeFileSync(place.file, bytes)
    await restoreBackup(path, { database: place.database })
    expect(idsIn(place.file)).toEqual([before])
  })

  test('knows other sizes: of the file, and of its pages', async ({ place }) => {
    const { path, before } = await backedUp(place)
    const large = join(place.folder, 'large.db')
    edit(
      large,
      'PRAGMA page_size = 16384; CREATE TABLE padding (x); INSERT INTO padding VALUES (zeroblob(3000000))',
    )
    await restoreBackup(path, { database: `sqlite:${large}` })
    expect(idsIn(large)).toEqual([before])
  })

  test('is for files: of PostgreSQL and of memory the hint says what to do', async () => {
    for (const database of ['postgres://nobody@localhost/nothing', 'sqlite::memory:']) {
      await expect(restoreBackup('copy.db', { database })).rejects.toMatchObject({
        code: 'NOT_SUPPORTED',
        hint: expect.stringMatching(/pg_restore|Only a file/),
      })
    }
    for (const wrong of [{ database: 'app.db' }, { database: 'sqlite:x', force: true }] as {
      database: string
    }[])
      await expect(restoreBackup('copy.db', wrong)).rejects.toMatchObject({ code: /BAD_/ })
  })
})

function edit(file: string, sql: string): void {
  const db = new Database(file)
  db.exec(sql)
  db.close()
}
