import { describe, expect, expectTypeOf } from 'vitest'
import { z } from 'zod'
import { defineResource, defineTask, implement, type ResourceError } from '../../../src/index.ts'
import type { TestGleaner } from '../../../src/testing/index.ts'
import { test } from '../../testing/open-test.ts'
import { model, plain } from './model.ts'

describe('loading', () => {
  test('happens once for all that ask, before they run, and is shared by all workers', async ({ open }) => {
    const { embed, calls } = model()
    const t = await open({ tasks: [embed] })
    t.work({ concurrency: 4 })
    t.work({ concurrency: 4 })
    await t.enqueueMany(
      embed,
      Array.from({ length: 20 }, () => undefined),
    )
    await t.runUntilIdle()
    expect((await t.completed(embed)).map(({ result }) => result)).toEqual(Array(20).fill('by 1'))
    expect(calls).toEqual(['probe', 'load'])
  })

  test('shows as loading_models, then processing, then idle', async ({ open }) => {
    const ground: { t?: TestGleaner } = {}
    const slow = defineResource({
      name: 'slow',
      load: async () => {
        await ground.t!.sleep('10s')
        return 'loaded'
      },
    })
    const task = defineTask({
      name: 'task',
      timeout: '5s',
      uses: { slow },
      run: async (_, ctx) => {
        await ground.t!.sleep('2s')
        return ctx.use.slow
      },
    })
    ground.t = await open({ tasks: [task] })
    const { t } = ground as { t: TestGleaner }
    const worker = t.work()
    const phases: string[] = []
    worker.onPhase((phase, previous) => phases.push(`${previous} → ${phase}`))
    await t.runUntilIdle()
    const { id } = await t.enqueue(task)
    await t.advance('9s')
    expect(worker.snapshot()).toMatchObject({
      phase: 'loading_models',
      current: [{ item: `task/${id}`, since: t.now() - 9_000, deadline: null }],
      resources: [{ name: 'slow', state: 'loading', users: 1 }],
    })
    await t.advance('2s')
    // The time it took to load is not the task's.
    expect(worker.snapshot()).toMatchObject({
      phase: 'processing',
      current: [{ item: `task/${id}`, deadline: t.now() + 4_000 }],
      resources: [{ state: 'loaded', users: 1 }],
    })
    await t.advance('1s')
    expect(worker.snapshot()).toMatchObject({ phase: 'idle', current: [], resources: [{ users: 0 }] })
    expect(worker.snapshot().averageMs).toBe(2_000)
    expect(await t.tasks.get(id)).toMatchObject({ status: 'completed', result: 'loaded' })
    expect(phases).toEqual([
      'initializing → idle',
      'idle → loading_models',
      'loading_models → processing',
      'processing → idle',
    ])
  })

  test('begins when the start of the worker is over, although there was work at once', async ({ open }) => {
    const { embed } = model()
    const t = await open({ tasks: [embed] })
    await t.enqueue(embed)
    const phases: string[] = []
    t.work().onPhase((phase) => phases.push(phase))
    await t.runUntilIdle()
    expect(phases).toEqual(['idle', 'loading_models', 'processing', 'idle'])
  })

  test('leaves alone what needs nothing: its start is over before it runs', async ({ open }) => {
    const shelf = defineResource({ name: 'shelf', load: () => 'loaded' })
    const needing = defineTask({ name: 'needing', uses: { shelf }, run: () => {} })
    const phases: string[] = []
    let phasesBefore: string[] = []
    const lone = defineTask({
      name: 'lone',
      run: () => {
        phasesBefore = [...phases]
      },
    })
    const t = await open({ tasks: [needing, lone] })
    await t.enqueue(lone)
    t.work().onPhase((phase) => phases.push(phase))
    await t.runUntilIdle()
    expect(phasesBefore).not.toEqual([])
  })

  test.for([
    [
      'throws',
      () => {
        throw new Error('bad file')
      },
      'bad file',
    ],
    [
      'rejects',
      async () => {
        throw new Error('bad file')
      },
      'bad file',
    ],
    ['gives nothing', () => undefined as never, 'its load returned undefined'],
    ['gives null', () => null as never, 'its load returned null'],
  ] as const)('that %s returns the attempt, and both back off', async ([, load, words], { open }) => {
    let works = false
    const { embed } = model({
      load: () => (works ? { number: 7, embed: () => 'mended' } : load()),
    })
    const t = await open({ tasks: [embed, plain] })
    const problems: ResourceError[] = []
    t.on('problem', ({ error }) => problems.push(error as ResourceError))
    const worker = t.work()
    const handle = await t.enqueue(embed)
    await t.enqueue(plain)
    await t.runUntilIdle()
    expect(await t.tasks.get(handle.id)).toMatchObject({
      status: 'scheduled',
      attempts: 0,
      error: { kind: 'error', message: expect.stringContaining(words) },
    })
    expect(await t.tasks.attempts(handle.id)).toMatchObject([{ attempt: 1, outcome: 'later' }])
    expect(problems).toMatchObject([{ name: 'ResourceError', code: 'RESOURCE_LOAD' }])
    expect(worker.snapshot()).toMatchObject({
      phase: 'backing_off',
      counters: { consecutive_errors: 1 },
      resources: [{ state: 'unavailable', reason: expect.stringContaining(words) }],
    })
    const waits = (await t.tasks.explain(handle.id)).reasons.filter(({ ok }) => !ok)
    expect(waits.map(({ check }) => check)).toEqual(['not-backing-off', 'resources-available'])
    expect(waits[0]!.detail).toContain('an attempt went back')
    works = true
    await t.advance('29s')
    expect(await t.completed(embed)).toEqual([])
    await t.advance('1s')
    expect(await handle.result()).toBe('mended')
    expect(worker.snapshot().counters.consecutive_errors).toBe(0)
  })

  test('that takes too long is given up; what comes late is unloaded', async ({ open }) => {
    const ground: { t?: TestGleaner } = {}
    const unloaded: unknown[] = []
    const { embed, state } = model({
      loadTimeout: '1m',
      load: async () => {
        state.loads += 1
        const number = state.loads
        if (number === 1) await ground.t!.sleep('10m')
        return { number, embed: () => `by ${number}` }
      },
      unload: ({ number }) => void unloaded.push(number),
    })
    ground.t = await open({ tasks: [embed] })
    const { t } = ground as { t: TestGleaner }
    t.on('problem', () => {})
    const handle = await t.enqueue(embed)
    await t.advance('61s')
    expect((await t.tasks.get(handle.id))!.error!.message).toContain('no answer within 60000 ms')
    await t.advance('5m')
    expect(await handle.result()).toBe('by 2')
    expect(unloaded).toEqual([])
    await t.advance('5m')
    expect(unloaded).toEqual([1])
  })

  test('is not waited for by a task that is cancelled', async ({ open }) => {
    const ground: { t?: TestGleaner } = {}
    const { embed, calls } = model({
      probe: undefined,
      load: async () => {
        calls.push('load')
        await ground.t!.sleep('1m')
        return { number: 1, embed: () => expect.unreachable('it was cancelled') }
      },
      idleAfter: '1m',
    })
    ground.t = await open({ tasks: [embed] })
    const { t } = ground as { t: TestGleaner }
    const handle = await t.enqueue(embed)
    await t.advance('1s')
    await handle.cancel()
    await t.advance('1s')
    expect(await t.tasks.get(handle.id)).toMatchObject({ status: 'cancelled' })
    expect(calls).toEqual(['load'])
    await t.advance('2m')
    expect(calls).toEqual(['load', 'unload 1'])
  })

  test('of one of two that fails lets go of the other', async ({ open }) => {
    const { resource, calls } = model({ idleAfter: '1m' })
    const broken = defineResource({ name: 'broken', load: () => Promise.reject(new Error('no')) })
    const both = defineTask({ name: 'both', uses: { resource, broken }, run: () => {} })
    const t = await open({ tasks: [both] })
    t.on('problem', () => {})
    await t.enqueue(both)
    await t.advance('2s')
    await t.pause()
    await t.advance('5m')
    expect(calls).toContain('unload 1')
  })

  test('does not happen for an input that is refused', async ({ open }) => {
    const { resource, calls } = model()
    const picky = defineTask({
      name: 'picky',
      input: z.any().refine((input) => input !== 'changed', 'changed since'),
      uses: { resource },
      run: () => {},
    })
    const t = await open({ tasks: [picky] })
    const { id } = await t.enqueue(picky, 'fine')
    t.db.prepare(`UPDATE gleaner_tasks SET input = '"changed"' WHERE id = ?`).run(Number(id))
    await t.runUntilIdle()
    expect(await t.tasks.get(id)).toMatchObject({ status: 'failed', error: { kind: 'permanent' } })
    expect(calls).toEqual(['probe'])
  })
})

describe('what is loaded', () => {
  test('stands in ctx.use, typed, also where run is implemented elsewhere', async ({ open }) => {
    const { resource } = model()
    const numbers = defineResource({ name: 'numbers', load: () => [1, 2, 3] })
    const enqueued = defineTask({ name: 'enqueued', input: z.number(), output: z.string() })
    const implemented = implement(enqueued, {
      uses: { model: resource, numbers },
      run: (n, ctx) => {
        expectTypeOf(ctx.use.numbers).toEqualTypeOf<number[]>()
        expectTypeOf(ctx.use.model.embed()).toEqualTypeOf<string>()
        expect(() => {
          // @ts-expect-error it is given, not to be changed
          ctx.use.numbers = []
        }).toThrow(TypeError)
        return `${ctx.use.model.embed()}, ${ctx.use.numbers[n]}`
      },
    })
    const bare = defineTask({
      name: 'bare',
      run: (_, ctx) => {
        // @ts-expect-error it uses nothing
        return ctx.use.model ?? Object.keys(ctx.use)
      },
    })
    const t = await open({ tasks: [implemented, bare] })
    const handle = await t.enqueue(enqueued, 2)
    const nothing = await t.enqueue(bare)
    await t.runUntilIdle()
    expect(await handle.result()).toBe('by 1, 3')
    expect(await nothing.result()).toEqual([])
  })
})
