import { identifySelf } from '../../src/process-identity.ts'
import type { Theme } from './theme.ts'

const NAME = 'main'
const process = identifySelf()
const report = { name: NAME, workers: '[]', handled: null, leaving: false }

export const supervising: Theme = (specify, expect) => {
  specify('of two supervisors that want the same leadership one gets it', async ({ store, database }) => {
    const other = await database.open()
    const terms = await Promise.all([
      store.sessions.takeLeadership(NAME, process, null),
      other.sessions.takeLeadership(NAME, process, null),
    ])
    expect(terms.filter((term) => term !== null)).toHaveLength(1)
    expect(await store.sessions.supervisors()).toMatchObject([
      { name: NAME, process, left: false, workers: '[]' },
    ])
  })

  specify(
    'leadership is taken over only by a supervisor that names the term that it saw end',
    async ({ store }) => {
      const first = (await store.sessions.takeLeadership(NAME, process, null))!
      expect(await store.sessions.takeLeadership(NAME, process, first - 1)).toBe(null)
      const successors = await Promise.all([
        store.sessions.takeLeadership(NAME, process, first),
        store.sessions.takeLeadership(NAME, process, first),
      ])
      expect(successors.filter((term) => term !== null)).toEqual([first + 1])
    },
  )

  specify('a supervisor that lost the leadership cannot report any more', async ({ store }) => {
    const first = (await store.sessions.takeLeadership(NAME, process, null))!
    const second = (await store.sessions.takeLeadership(NAME, process, first))!
    expect(await store.sessions.report({ ...report, term: first, workers: '["late"]' })).toBe(false)
    expect(await store.sessions.report({ ...report, term: second, workers: '["mine"]' })).toBe(true)
    expect(await store.sessions.supervisors()).toMatchObject([{ term: second, workers: '["mine"]' }])
  })

  specify('what was reported stays for the next leader', async ({ store }) => {
    const first = (await store.sessions.takeLeadership(NAME, process, null))!
    await store.sessions.report({ ...report, term: first, workers: '["counts"]', leaving: true })
    expect(await store.sessions.supervisors()).toMatchObject([{ left: true, workers: '["counts"]' }])
    await store.sessions.takeLeadership(NAME, process, first)
    expect(await store.sessions.supervisors()).toMatchObject([{ left: false, workers: '["counts"]' }])
  })

  specify('how long a supervisor was not seen is told by the clock of the store', async (world) => {
    const term = (await world.store.sessions.takeLeadership(NAME, process, null))!
    world.clock.advance(7_000)
    expect(await world.store.sessions.supervisors()).toMatchObject([{ unseenMs: 7_000 }])
    await world.store.sessions.report({ ...report, term })
    expect(await world.store.sessions.supervisors()).toMatchObject([{ unseenMs: 0 }])
  })

  specify('a command reaches every supervisor, or the one that it names', async ({ store }) => {
    await store.sessions.takeLeadership('a', process, null)
    await store.sessions.takeLeadership('b', process, null)
    expect(await store.sessions.command({ action: 'pause', worker: null, supervisor: null })).toBe(2)
    expect(await store.sessions.command({ action: 'restart', worker: 'worker:ml:0', supervisor: 'a' })).toBe(
      1,
    )
    expect(await store.sessions.command({ action: 'resume', worker: null, supervisor: 'nobody' })).toBe(0)
    expect(await store.sessions.commandsFor('a')).toMatchObject([
      { action: 'pause', worker: null },
      { action: 'restart', worker: 'worker:ml:0' },
    ])
    expect(await store.sessions.commandsFor('b')).toMatchObject([{ action: 'pause', worker: null }])
  })

  specify('a command stays until it was carried out', async ({ store }) => {
    const term = (await store.sessions.takeLeadership(NAME, process, null))!
    await store.sessions.command({ action: 'pause', worker: null, supervisor: null })
    await store.sessions.command({ action: 'resume', worker: null, supervisor: null })
    const [first, second] = await store.sessions.commandsFor(NAME)
    await store.sessions.report({ ...report, term: term - 1, handled: second!.id })
    expect(await store.sessions.commandsFor(NAME)).toEqual([first, second])
    await store.sessions.report({ ...report, term, handled: first!.id })
    expect(await store.sessions.commandsFor(NAME)).toEqual([second])
  })

  specify('a session tells who supervises its process', async ({ store }) => {
    const session = { worker: 'worker:ml:0', process, queues: [], names: [], capabilities: {} }
    const supervisor = { ...process, pid: 4711 }
    await store.sessions.openSession(session)
    await store.sessions.openSession({ ...session, supervisor })
    expect((await store.sessions.liveSessions()).map((live) => live.supervisor)).toEqual([null, supervisor])
  })
}
