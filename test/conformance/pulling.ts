import { FILES, fileSource, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'

const LEASE_MS = 30_000
const PULLS = { leaseMs: 60_000, caller: 'python' }

export const pulling: Theme = (specify, expect) => {
  specify(
    'a session that pulls by hand tells its own lease and its caller, and others tell none',
    async (world) => {
      await world.worker({ worker: 'gpu-box', pulls: PULLS })
      await world.worker({ worker: 'worker:ml:0' })
      const other = await world.database.open()
      expect(await other.sessions.liveSessions()).toMatchObject([
        { worker: 'gpu-box', ...PULLS },
        { worker: 'worker:ml:0', leaseMs: null, caller: null },
      ])
    },
  )

  specify('the session of a caller is renewed on its behalf, and not after its end', async (world) => {
    const { store, clock } = world
    const { session } = await world.worker({ pulls: PULLS })
    clock.advance(LEASE_MS / 3)
    expect(await store.sessions.renewSession(session, LEASE_MS)).toBe(true)
    expect(await store.sessions.liveSessions()).toMatchObject([{ renewals: 1, unrenewed: { countedMs: 0 } }])
    await store.sessions.endSession(session, 'lease')
    expect(await store.sessions.renewSession(session, LEASE_MS)).toBe(false)
  })

  specify('what is held under a fence tells its holder, also to another process', async (world) => {
    const id = await world.enqueue({ overrides: { timeoutMs: 5_000 } })
    const worker = await world.worker({ pulls: PULLS })
    const { fence } = await worker.claimOne()
    const other = await world.database.open()
    expect(await other.sessions.heldClaim({ id, fence })).toEqual({
      ...{
        id,
        fence,
        session: worker.session,
        worker: 'worker:test:0',
        ...PULLS,
        name: 'job',
        queue: 'default',
      },
      ...{ attempt: 1, maxAttempts: 3, overrides: { timeoutMs: 5_000 } },
      ...{ startedAt: world.clock.now(), cancelRequested: false },
    })
    await other.tasks.cancelTask(id)
    expect(await other.sessions.heldClaim({ id, fence })).toMatchObject({ cancelRequested: true })
  })

  specify(
    'nothing is held under another fence, after a settlement, or after the end of the session',
    async (world) => {
      const { store } = world
      const [first, second] = [await world.enqueue(), await world.enqueue()]
      const worker = await world.worker({ pulls: PULLS })
      const one = await worker.claimOne()
      const two = await worker.claimOne()
      expect([one.id, two.id]).toEqual([first, second])
      for (const fence of [one.fence + 1_000, 0, -1])
        expect(await store.sessions.heldClaim({ id: first, fence })).toBe(null)
      await worker.complete(one)
      expect(await store.sessions.heldClaim(one)).toBe(null)
      await worker.end('lease')
      expect(await store.sessions.heldClaim(two)).toBe(null)
      for (const id of ['', 'nonsense', '-1', '1.5', '9'.repeat(30), 'none/1'])
        expect(await store.sessions.heldClaim({ id, fence: 1 }), id).toBe(null)
    },
  )

  specify(
    'a held row tells its holder, and its values are read again while it is eligible',
    async (world) => {
      await withFiles(world, 1)
      const worker = await rowWorker(world, { pulls: PULLS })
      const claim = await worker.claimOne()
      const other = await world.database.open()
      expect(await other.sessions.heldClaim(claim)).toEqual({
        ...{
          id: 'tag-files/1',
          fence: claim.fence,
          session: worker.session,
          worker: 'worker:test:0',
          ...PULLS,
          name: 'tag-files',
        },
        ...{ queue: null, attempt: 1, maxAttempts: null, overrides: null },
        ...{ startedAt: world.clock.now(), cancelRequested: false },
      })
      expect(await other.rows.rowValues('tag-files', '1')).toEqual(claim.row)
      await worker.complete(claim)
      expect(await other.sessions.heldClaim(claim)).toBe(null)
      expect(await other.rows.rowValues('tag-files', '1')).toBe(null)
    },
  )

  specify('values of a row are read exactly, whatever its columns are called', async (world) => {
    await world.database.tables.run(FILES.replace('bpm integer', '"fence" bigint'))
    await world.database.tables.run("INSERT INTO files VALUES (1, 'ä', 1, 1, 9007199254740993, 0)")
    await world.store.rows.planDiscoveries([fileSource(world)])
    expect(await world.store.rows.rowValues('tag-files', '1')).toMatchObject({
      path: 'ä',
      fence: 9_007_199_254_740_993n,
    })
    expect(await world.store.rows.rowValues('tag-files', '2')).toBe(null)
  })
}
