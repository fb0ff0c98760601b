import { HEALTH_KEPT_MS } from '../../src/model/health.ts'
import type { NewHealthNote } from '../../src/store/ports/health.ts'
import type { Theme } from './theme.ts'

const ALL = { limit: 10_000, cursor: null }

export const healthHistory: Theme = (specify, expect) => {
  specify('what is noted is read, the newest first, with the time of the store', async (world) => {
    await world.store.sessions.noteHealth([
      note({ component: 'a', status: 'pending', agoMs: 1_500 }),
      note({ component: 'b' }),
    ])
    world.clock.advance(60_000)
    await world.store.sessions.noteHealth([note({ component: 'a', changedFrom: 'pending', item: 'scan' })])
    const now = world.clock.now()
    expect(await world.store.sessions.healthHistory({}, ALL)).toEqual({
      items: [
        { at: now, component: 'a', status: 'healthy', changedFrom: 'pending', item: 'scan' },
        { at: now - 60_000, component: 'b', status: 'healthy', changedFrom: null, item: null },
        { at: now - 61_500, component: 'a', status: 'pending', changedFrom: null, item: null },
      ],
      next: null,
    })
  })

  specify('it is read of one component, of changes alone, and page by page', async (world) => {
    for (let i = 0; i < 7; i++) {
      await world.store.sessions.noteHealth([
        note({ component: 'a', changedFrom: i % 2 ? 'unhealthy' : null }),
        note({}),
      ])
    }
    const changes = await world.store.sessions.healthHistory({ component: 'a', changes: true }, ALL)
    expect(changes.items).toHaveLength(3)
    const first = await world.store.sessions.healthHistory({ component: 'a' }, { limit: 4, cursor: null })
    const second = await world.store.sessions.healthHistory(
      { component: 'a' },
      { limit: 4, cursor: first.next },
    )
    expect([first.items.length, second.items.length, second.next]).toEqual([4, 3, null])
    expect([...first.items, ...second.items]).toEqual(
      (await world.store.sessions.healthHistory({ component: 'a' }, ALL)).items,
    )
  })

  specify('what is too old is taken away, a few at a time', async (world) => {
    await world.store.sessions.noteHealth(Array.from({ length: 700 }, () => note({})))
    world.clock.advance(HEALTH_KEPT_MS + 1)
    const count = async () => (await world.store.sessions.healthHistory({}, ALL)).items.length
    await world.store.sessions.noteHealth([note({})])
    expect(await count()).toBe(700 + 1 - 501)
    await world.store.sessions.noteHealth([note({})])
    expect(await count()).toBe(2)
  })

  specify('it is read of a span of time', async (world) => {
    const at: number[] = []
    for (let i = 0; i < 4; i++) {
      world.clock.advance(60_000)
      at.push(world.clock.now())
      await world.store.sessions.noteHealth([note({})])
    }
    const between = await world.store.sessions.healthHistory({ since: at[1], until: at[3] }, ALL)
    expect(between.items.map((one) => one.at)).toEqual([at[2], at[1]])
  })

  specify(
    'a component that has no other record is listed, with the time of its last change',
    async (world) => {
      await world.store.sessions.noteHealth(
        [note({ component: 'cache', item: 'warm-up', agoMs: 500 })],
        90_000,
      )
      await world.store.sessions.noteHealth([note({ component: 'worker:a:0' })])
      const since = world.clock.now() - 500
      world.clock.advance(30_000)
      await world.store.sessions.noteHealth([note({ component: 'cache' })], 90_000)
      const reportedAt = world.clock.now()
      expect(await world.store.sessions.components()).toEqual([
        { id: 'cache', status: 'healthy', since, item: null, reportedAt, lost: false },
      ])
      await world.store.sessions.noteHealth(
        [note({ component: 'cache', status: 'unhealthy', changedFrom: 'healthy' })],
        90_000,
      )
      expect(await world.store.sessions.components()).toMatchObject([
        { status: 'unhealthy', since: reportedAt },
      ])
    },
  )

  specify(
    'a component that is no longer reported is unhealthy, and is no longer listed after a day',
    async (world) => {
      await world.store.sessions.noteHealth(
        [note({ component: 'cache' }), note({ component: 'done', status: 'failed' })],
        90_000,
      )
      const reportedAt = world.clock.now()
      world.clock.advance(90_001)
      expect(await world.store.sessions.components()).toMatchObject([
        { id: 'cache', status: 'unhealthy', since: reportedAt + 90_000, lost: true },
        { id: 'done', status: 'failed', since: reportedAt, lost: true },
      ])
      world.clock.advance(24 * 60 * 60_000)
      await world.store.sessions.noteHealth([note({ component: 'new' })], 90_000)
      expect((await world.store.sessions.components()).map(({ id }) => id)).toEqual(['new'])
    },
  )

  specify('a component that was forgotten keeps its history', async (world) => {
    await world.store.sessions.noteHealth([note({ component: 'a' }), note({ component: 'b' })], 90_000)
    await world.store.sessions.forgetComponents(['b', 'nobody'])
    expect((await world.store.sessions.components()).map(({ id }) => id)).toEqual(['a'])
    expect((await world.store.sessions.healthHistory({ component: 'b' }, ALL)).items).toHaveLength(1)
  })

  specify('stores that note at the same time lose nothing', async (world) => {
    const stores = [world.store, await world.database.open(), await world.database.open()]
    await Promise.all(
      Array.from({ length: 30 }, (_, i) => stores[i % 3]!.sessions.noteHealth([note({}), note({})])),
    )
    expect((await world.store.sessions.healthHistory({}, ALL)).items).toHaveLength(60)
  })
}

function note(options: Partial<NewHealthNote>): NewHealthNote {
  return { component: 'worker:a:0', status: 'healthy', changedFrom: null, item: null, agoMs: 0, ...options }
}
