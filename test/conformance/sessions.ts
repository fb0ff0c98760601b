import { identifySelf } from '../../src/process-identity.ts'
import { openRenewer } from '../../src/store/by-url/renewer.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { Theme } from './theme.ts'
import { counts } from './world.ts'

const LEASE_MS = 30_000

export const sessions: Theme = (specify, expect) => {
  specify('live sessions tell their worker and its process', async (world) => {
    const process = identifySelf()
    const { session } = await world.worker({ worker: 'worker:ml:0', process })
    const other = await world.database.open()
    expect(await other.sessions.liveSessions()).toMatchObject([
      { id: session, worker: 'worker:ml:0', process, renewals: 0 },
    ])
  })

  specify('a session that ended is not among the live ones, and its id never comes back', async (world) => {
    const first = await world.worker()
    await first.end('stop')
    expect(await world.store.sessions.liveSessions()).toEqual([])
    const second = await world.worker()
    expect(second.session).not.toBe(first.session)
  })

  specify('a session ends once: whoever comes second is answered with null', async (world) => {
    const worker = await world.worker()
    const other = await world.database.open()
    const ends = await Promise.all([
      world.store.sessions.endSession(worker.session, 'crash'),
      other.sessions.endSession(worker.session, 'lease'),
    ])
    expect(ends.filter((end) => end !== null)).toHaveLength(1)
    expect(await other.sessions.endSession(worker.session, 'stop')).toBe(null)
  })

  specify('ending a session that never was is answered with null', async ({ store }) => {
    for (const id of ['987654', 'nonsense', ''])
      expect(await store.sessions.endSession(id, 'crash'), id).toBe(null)
  })

  specify('every renewal is counted, and answered with the sessions that are alive', async (world) => {
    const renewer = await renewerOf(world.store)
    if (renewer === null) return
    const alive = await world.worker()
    const ended = await world.worker()
    await ended.end('lease')
    expect(await renewer.renew([alive.session, ended.session])).toEqual([alive.session])
    expect(await renewer.renew([alive.session])).toEqual([alive.session])
    await renewer.close()
    expect(await world.store.sessions.liveSessions()).toMatchObject([{ id: alive.session, renewals: 2 }])
  })

  specify('a session that was renewed since it was looked at is not ended', async (world) => {
    const renewer = await renewerOf(world.store)
    if (renewer === null) return
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await renewer.renew([worker.session])
    await renewer.close()
    expect(await world.store.sessions.endSession(worker.session, 'lease', { renewals: 0 })).toBe(null)
    expect(await world.counts()).toEqual(counts({ running: 1 }))
    expect((await worker.complete(claim)).refused).toEqual([])
    expect(await world.task(id)).toMatchObject({ status: 'completed' })
  })

  specify('a session that was not renewed since it was looked at is ended', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    await worker.claimOne()
    expect(await world.store.sessions.endSession(worker.session, 'lease', { renewals: 0 })).toMatchObject({
      returned: 1,
    })
    expect(await world.counts()).toEqual(counts({ queued: 1 }))
  })
}

/** Null where nobody else could see the database, so that nobody needs to be told that we live. */
async function renewerOf(store: Store) {
  const plan = store.sessions.renewal()
  return plan === null ? null : openRenewer(plan, LEASE_MS)
}
