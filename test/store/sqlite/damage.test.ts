import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { StoreError } from '../../../src/errors.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

const NO_LIMIT = 1_073_741_823
const LARGE = JSON.stringify('x'.repeat(100_000))

describe('a full disk', () => {
  /** A store whose file may grow by a few pages only, and a way to lift that. */
  async function nearlyFull() {
    const path = freshPath()
    const store = await openStore(path)
    await store.tasks.enqueue([newTask({ key: 'held' }), newTask(), newTask()])
    const worker = await new Claimant(store, { ...systemClock, advance() {} }).begin()
    const claims = await worker.claim(2)
    const raw = connect(path)
    // The limit belongs to the store's own connection, which only effects can reach.
    const limitTo = (pages: number, claim: number) =>
      worker.completeWith(claims[claim]!, (tx) => {
        tx.prepare(`PRAGMA max_page_count = ${pages}`).get()
      })
    await limitTo((raw.pragma('page_count', { simple: true }) as number) + 5, 0)
    return { path, store, worker, raw, makeRoom: () => limitTo(NO_LIMIT, 1) }
  }

  test('is answered with STORE_FULL, nothing is half-written, and the store goes on when there is room', async () => {
    const { store, raw, makeRoom } = await nearlyFull()
    const before = await store.tasks.countTasks({})
    const many = Array.from({ length: 50 }, (_, i) => newTask({ input: LARGE, key: `k${i}`, queue: `q${i}` }))
    for (let round = 0; round < 3; round++) {
      const answer = store.tasks.enqueue(many)
      await expect(answer).rejects.toBeInstanceOf(StoreError)
      await expect(answer).rejects.toMatchObject({
        code: 'STORE_FULL',
        hint: expect.stringMatching(/Make room/),
      })
      expect(await store.tasks.countTasks({})).toEqual(before)
    }
    expect(await store.admin.listQueues()).toMatchObject([{ name: 'default' }])
    await makeRoom()
    expect((await store.tasks.enqueue(many)).every(({ created }) => created)).toBe(true)
    expect(await store.tasks.countTasks({})).toMatchObject({ queued: before.queued + 50 })
    expect(raw.pragma('integrity_check', { simple: true })).toBe('ok')
  })

  test('does not keep workers from handing in and taking small things', async () => {
    const { store, worker } = await nearlyFull()
    await expect(store.tasks.enqueue([newTask({ input: LARGE })])).rejects.toMatchObject({
      code: 'STORE_FULL',
    })
    const [claim] = await worker.claim(1)
    expect((await worker.complete(claim!)).refused).toEqual([])
  })
})

describe('a damaged file', () => {
  test('that is no database at all is refused with STORE_CORRUPT, and left as it is', async () => {
    const path = freshPath()
    const text = 'These are my notes, not a database. '.repeat(100)
    writeFileSync(path, text)
    await expect(openStore(path)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      hint: expect.stringMatching(/Restore a backup/),
    })
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('that was overwritten in its middle is answered with STORE_CORRUPT', async () => {
    const path = freshPath()
    const store = await openStore(path)
    await store.tasks.enqueue(
      Array.from({ length: 500 }, () => newTask({ input: `${LARGE.slice(0, 500)}"` })),
    )
    await store.close()
    const raw = connect(path)
    const pageSize = raw.pragma('page_size', { simple: true }) as number
    const root = raw
      .prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'gleaner_tasks'`)
      .pluck()
      .get() as number
    raw.close()
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(pageSize, 0xee), 0, pageSize, (root - 1) * pageSize)
    closeSync(file)
    const again = await openStore(path)
    const answers = [again.tasks.listTasks({}, { limit: 10, cursor: null }), again.tasks.enqueue([newTask()])]
    for (const answer of answers) await expect(answer).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  })
})

describe('a place where no database can be', () => {
  const unusable = { code: 'STORE_FAILED', hint: expect.stringMatching(/folder/) }

  test('a folder that does not exist is a clear error', async () => {
    await expect(openStore(join(dirname(freshPath()), 'nowhere', 'app.db'))).rejects.toMatchObject(unusable)
  })

  test('a folder in the place of the file is a clear error', async () => {
    const path = freshPath()
    mkdirSync(path)
    await expect(openStore(path)).rejects.toMatchObject(unusable)
  })

  test('a folder we may not write to is a clear error', async () => {
    const path = freshPath()
    chmodSync(dirname(path), 0o555)
    asNobody()
    await expect(openStore(path)).rejects.toMatchObject(unusable)
  })

  test('a file we may only read is a clear error', async () => {
    const path = freshPath()
    await (await openStore(path)).close()
    chmodSync(path, 0o444)
    chmodSync(dirname(path), 0o555)
    asNobody()
    await expect(openStore(path)).rejects.toMatchObject({ code: 'STORE_FAILED', hint: expect.any(String) })
  })
})

/** Permissions mean nothing to root, so for this test we are somebody else. */
function asNobody(): void {
  if (process.geteuid?.() !== 0) return
  process.seteuid!(65_534)
  onTestFinished(() => process.seteuid!(0))
}
