import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import type { Enqueued } from '../../src/store/ports/new-task.ts'
import type { Store } from '../../src/store/ports/store.ts'
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

async function childWithoutFlow(store: Store): Promise<{ parent: string; finish: () => Promise<unknown> }> {
  const [{ id: parent }] = (await store.tasks.enqueue([newTask()])) as [Enqueued]
  const worker = await new Claimant(store, CLOCK).begin()
  const { id, fence } = await worker.claimOne()
  const step = { claim: { id, fence }, name: 'thumb', number: 1, attempt: 1, startedAt: 0 }
  await store.flows.spawn(worker.session, {
    ...step,
    tasks: [newTask()],
    concurrency: null,
    onFailure: 'fail',
  })
  const waits = [{ kind: 'children', name: 'thumb', number: 1, until: null } as const]
  await worker.settle({ id, fence }, { kind: 'waits', waits, afterMs: null })
  return { parent, finish: async () => worker.complete(await worker.claimOne()) }
}

test('check tells a parent of the end of a child that nobody heard of (SQLite)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-check-'))
  const path = join(folder, 'app.db')
  const store = await openSqliteStore({ path })
  try {
    const { parent, finish } = await childWithoutFlow(store)
    const db = new Database(path)
    db.exec(`UPDATE gleaner_tasks SET flow = NULL WHERE status = 'queued'`)
    db.close()
    await finish()
    await store.flows.settle()
    expect(await store.tasks.getTask(parent)).toMatchObject({ status: 'suspended' })
    expect(await store.maintenance.check()).toMatchObject([{ repaired: true }])
    await store.flows.settle()
    expect(await store.tasks.getTask(parent)).toMatchObject({ status: 'queued' })
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})

onPostgres(
  'check tells a parent of the end of a child that nobody heard of (PostgreSQL)',
  async ({ place }) => {
    const store = await place.store()
    const { parent, finish } = await childWithoutFlow(store)
    await place.rows(`UPDATE gleaner.tasks SET flow = NULL WHERE status = 'queued'`)
    await finish()
    await store.flows.settle()
    expect(await store.tasks.getTask(parent)).toMatchObject({ status: 'suspended' })
    expect(await store.maintenance.check()).toMatchObject([{ repaired: true }])
    await store.flows.settle()
    expect(await store.tasks.getTask(parent)).toMatchObject({ status: 'queued' })
  },
)

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
