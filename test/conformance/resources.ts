import { explain } from '../../src/model/explanation.ts'
import { explainRow } from '../../src/model/row-explanation.ts'
import { pausedWorker, type UnavailableResource } from '../../src/model/unavailable-resource.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

export const resources: Theme = (specify, expect) => {
  const reasonOf = async (world: World, id: string) => {
    const circumstances = (await world.store.tasks.circumstancesOf(id))!
    const { runnable, reasons } = explain({ ...circumstances, limits: [] })
    return { runnable, reason: reasons.find(({ check }) => check === 'resources-available') }
  }
  const missing = (world: World, ...holds: string[]): UnavailableResource => ({
    resource: 'effnet',
    reason: 'no VRAM: it\'s "full" – ü',
    until: world.clock.now() + 30_000,
    holds,
  })

  specify('a task says which worker waits for which resource, and until when', async (world) => {
    const worker = await world.worker({ worker: 'worker:ml:0' })
    const id = await world.enqueue()
    expect(await reasonOf(world, id)).toEqual({ runnable: true, reason: undefined })
    await world.store.sessions.noteUnavailableResources(worker.session, [missing(world, 'other', 'job')])
    const { runnable, reason } = await reasonOf(world, id)
    expect(runnable).toBe(false)
    expect(reason?.detail).toBe(
      'a resource that the task needs is not available: worker:ml:0 waits for effnet (no VRAM: it\'s "full" – ü) ' +
        `and checks again at ${new Date(world.clock.now() + 30_000).toISOString()}`,
    )
    await world.store.sessions.noteUnavailableResources(worker.session, [])
    expect(await reasonOf(world, id)).toEqual({ runnable: true, reason: undefined })
  })

  specify('a worker that lacks nothing will take it, whatever another one lacks', async (world) => {
    const needy = await world.worker({ worker: 'worker:ml:0' })
    await world.worker({ worker: 'worker:ml:1' })
    const id = await world.enqueue()
    await world.store.sessions.noteUnavailableResources(needy.session, [missing(world, 'job')])
    const { runnable, reason } = await reasonOf(world, id)
    expect(runnable).toBe(true)
    expect(reason?.detail).toContain('worker:ml:1 can run it')
  })

  specify('what only paused workers could run waits, and is told which of them they are', async (world) => {
    const first = await world.worker({ worker: 'worker:ml:0' })
    const second = await world.worker({ worker: 'worker:ml:1' })
    const id = await world.enqueue()
    const reason = async () => {
      const circumstances = (await world.store.tasks.circumstancesOf(id))!
      const { runnable, reasons } = explain({ ...circumstances, limits: [] })
      return { runnable, said: reasons.find(({ check }) => check === 'worker-not-paused')?.detail }
    }
    await world.store.sessions.noteUnavailableResources(first.session, [pausedWorker('by a command')])
    expect(await reason()).toEqual({
      runnable: true,
      said: 'worker:ml:0 is paused (by a command); worker:ml:1 can run it',
    })
    await world.store.sessions.noteUnavailableResources(second.session, [
      pausedWorker('by a command'),
      missing(world, 'job'),
    ])
    expect(await reason()).toEqual({
      runnable: false,
      said: 'all workers that could run it are paused: worker:ml:0 is paused (by a command); worker:ml:1 is paused (by a command)',
    })
    await world.store.sessions.noteUnavailableResources(first.session, [])
    await world.store.sessions.noteUnavailableResources(second.session, [])
    expect(await reason()).toEqual({ runnable: true, said: undefined })
  })

  specify('what was said ends with the session, and is told to other stores', async (world) => {
    const worker = await world.worker({}, await world.database.open())
    const id = await world.enqueue()
    await worker.store.sessions.noteUnavailableResources(worker.session, [missing(world, 'job')])
    expect((await reasonOf(world, id)).runnable).toBe(false)
    const { session } = worker
    await worker.end('stop')
    await worker.begin()
    await worker.store.sessions.noteUnavailableResources(session, [missing(world, 'job')])
    expect(await reasonOf(world, id)).toEqual({ runnable: true, reason: undefined })
  })

  specify('what a broken worker puts off keeps its attempt, and says why', async (world) => {
    const { clock, store } = world
    const worker = await world.worker()
    const id = await world.enqueue({ maxAttempts: 1 })
    const failure = { kind: 'error', message: 'no VRAM', stack: null } as const
    await worker.settle(await worker.claimOne(), { kind: 'later', afterMs: 5, failure })
    expect(await world.task(id)).toMatchObject({ status: 'scheduled', attempts: 0, error: failure })
    expect(await store.tasks.taskAttempts(id)).toMatchObject([{ outcome: 'later', error: failure }])
    clock.advance(5)
    await worker.complete(await worker.claimOne())
    expect(await world.task(id)).toMatchObject({ status: 'completed', attempts: 1, error: null })
  })

  specify('who asks for work hears of the pause of everything, and of no other', async (world) => {
    const worker = await world.worker()
    expect((await worker.take()).paused).toBe(false)
    await world.store.admin.setPaused('default', true)
    expect((await worker.take()).paused).toBe(false)
    await world.store.admin.setPaused(null, true)
    expect((await worker.take()).paused).toBe(true)
    const id = await world.enqueue()
    expect((await worker.take()).paused).toBe(true)
    expect((await worker.exchange({})).paused).toBe(undefined)
    await world.store.admin.setPaused(null, false)
    await world.store.admin.setPaused('default', false)
    expect(await worker.take()).toMatchObject({ paused: false, claims: [{ id }] })
  })

  specify('what a broken worker puts off of the rows says why, and keeps its attempt', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const [claim] = await worker.claimAll()
    const failure = { kind: 'error', message: 'no VRAM', stack: null } as const
    await worker.settle(claim!, { kind: 'later', afterMs: 5_000, failure })
    expect(await world.store.rows.getRow('tag-files', '1')).toMatchObject({
      state: 'backing-off',
      attempts: 0,
      error: failure,
    })
    const explanation = explainRow(await world.store.rows.rowCircumstances('tag-files', '1'))
    const waits = explanation.reasons.find(({ check }) => check === 'not-backing-off')
    expect(waits?.ok).toBe(false)
    expect(waits?.detail).toContain('no VRAM')
  })

  specify('a row says which worker waits for which resource', async (world) => {
    await withFiles(world, 1)
    const session = await world.store.sessions.openSession({
      worker: 'worker:ml:0',
      process: identifySelf(),
      queues: [],
      names: [],
      capabilities: {},
      discoveries: ['tag-files'],
    })
    const reason = async () =>
      explainRow(await world.store.rows.rowCircumstances('tag-files', '1')).reasons.find(
        ({ check }) => check === 'resources-available',
      )
    expect(await reason()).toBe(undefined)
    await world.store.sessions.noteUnavailableResources(session, [missing(world, 'tag-files')])
    expect((await reason())?.ok).toBe(false)
    expect((await reason())?.detail).toContain('effnet (no VRAM')
  })

  specify('who asks for rows hears of the pause of everything, and of no other', async (world) => {
    await withFiles(world, 0)
    const worker = await rowWorker(world)
    expect((await worker.take(1)).paused).toBe(false)
    await world.store.rows.setDiscoveryPaused('tag-files', true)
    expect((await worker.take(1)).paused).toBe(false)
    await world.store.admin.setPaused(null, true)
    expect((await worker.take(1)).paused).toBe(true)
    await world.store.admin.setPaused(null, false)
    expect((await worker.take(1)).paused).toBe(false)
  })
}
