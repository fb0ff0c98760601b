import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'

test('a fence that a power cut took back is not given out again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-fences-'))
  const [path, afterwards] = [join(folder, 'app.db'), join(folder, 'afterwards.db')]
  const before = await openSqliteStore({ path })
  try {
    await before.tasks.enqueue([newTask()])
    const first = await new Claimant(before, { now: () => Date.now() } as never).begin()
    // What a power cut leaves: all that was synced. The claim that follows is not.
    for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, afterwards + end)
    const lost = await first.claimOne()

    const store = await openSqliteStore({ path: afterwards })
    const second = await new Claimant(store, { now: () => Date.now() } as never).begin()
    await store.sessions.endSession(first.session, 'crash')
    const again = await second.claimOne()
    await store.close()
    expect(again.id).toBe(lost.id)
    expect(again.fence).toBeGreaterThan(lost.fence)
  } finally {
    await before.close()
    rmSync(folder, { recursive: true })
  }
})
