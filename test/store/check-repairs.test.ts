import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { Claimant } from '../conformance/claimant.ts'
import { newTask } from '../conformance/world.ts'
import { test as onPostgres } from './postgres/place.ts'

const CLOCK = { now: () => Date.now() } as never

test('check gives back a task that no live session holds, and says that it did (SQLite)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-check-'))
  const path = join(folder, 'app.db')
  const store = await openSqliteStore({ path })
  try {
    await store.tasks.enqueue([newTask()])
    const worker = await new Claimant(store, CLOCK).begin()
    const { id } = await worker.claimOne()
    const db = new Database(path)
    db.exec('DELETE FROM gleaner_batches')
    db.close()
    const findings = await store.maintenance.check()
    expect(findings.map(({ repaired }) => repaired)).toEqual(findings.map(() => true))
    expect(findings).not.toEqual([])
    expect(await store.tasks.getTask(id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(await store.maintenance.check()).toEqual([])
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})

onPostgres(
  'check gives back a task that no live session holds, and says that it did (PostgreSQL)',
  async ({ place }) => {
    const store = await place.store()
    await store.tasks.enqueue([newTask()])
    const worker = await new Claimant(store, CLOCK).begin()
    const { id } = await worker.claimOne()
    await place.rows('DELETE FROM gleaner.batches')
    const findings = await store.maintenance.check()
    expect(findings.map(({ repaired }) => repaired)).toEqual(findings.map(() => true))
    expect(findings).not.toEqual([])
    expect(await store.tasks.getTask(id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(await store.maintenance.check()).toEqual([])
  },
)
