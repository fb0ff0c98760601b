import { describe, expect } from 'vitest'
import { defineResource, defineTask } from '../../../src/index.ts'
import { stopwatch, test } from '../../testing/open-test.ts'
import { model, plain } from './model.ts'

describe('a resource that is unavailable', () => {
  test('keeps what needs it from being claimed, and nothing else', async ({ open }) => {
    const { embed, state, calls } = model()
    state.available = { reason: 'no VRAM' }
    const t = await open({ tasks: [embed, plain] })
    const needy = await t.enqueue(embed)
    const other = await t.enqueue(plain)
    await t.runUntilIdle()
    expect(await t.tasks.get(other.id)).toMatchObject({ status: 'completed' })
    expect(await t.tasks.get(needy.id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(await t.tasks.attempts(needy.id)).toEqual([])
    expect(calls).toEqual(['probe'])
  })

  test('is asked again after 30 s, and what needs it runs at once when it is back', async ({ open }) => {
    const { embed, state, count } = model()
    state.available = false
    const t = await open({ tasks: [embed] })
    const elapsedMs = stopwatch(t)
    const handle = await t.enqueue(embed)
    await t.advance('59s')
    expect(count('probe')).toBe(2)
    state.available = true
    await t.advance('10s')
    expect(await handle.result()).toBe('by 1')
    const { finishedAt, createdAt } = (await t.tasks.get(handle.id))!
    expect(finishedAt! - createdAt).toBe(60_000)
    expect(elapsedMs()).toBe(69_000)
  })

  test('is asked again when its probe says', async ({ open }) => {
    const { embed, state, count } = model()
    state.available = { reason: 'no VRAM', retryAfter: '5s' }
    const t = await open({ tasks: [embed] })
    await t.enqueue(embed)
    await t.advance('19s')
    expect(count('probe')).toBe(4)
  })

  test('shows in the phase and the snapshot, and that it is back as well', async ({ open }) => {
    const { embed, state } = model()
    state.available = { reason: 'no VRAM', retryAfter: '1m' }
    const t = await open({ tasks: [embed, plain] })
    const worker = t.work()
    const phases: string[] = []
    worker.onPhase((phase) => phases.push(phase))
    await t.runUntilIdle()
    expect(worker.snapshot()).toMatchObject({
      phase: 'backing_off',
      resources: [
        { name: 'effnet', state: 'unavailable', users: 0, reason: 'no VRAM', until: t.now() + 60_000 },
      ],
    })
    // It lacks something, though it still does something else.
    await t.enqueue(plain)
    await t.runUntilIdle()
    expect(phases).toEqual(['backing_off'])
    state.available = true
    await t.advance('1m')
    expect(worker.snapshot()).toMatchObject({
      phase: 'idle',
      resources: [{ state: 'unloaded', reason: null }],
    })
    expect(phases).toEqual(['backing_off', 'idle'])
  })

  test('is told by explain, as long as it is so', async ({ open }) => {
    const { embed, state } = model()
    state.available = { reason: 'no VRAM', retryAfter: '1m' }
    const t = await open({ tasks: [embed, plain] })
    const { id } = await t.enqueue(embed)
    await t.runUntilIdle()
    const { runnable, reasons } = await t.tasks.explain(id)
    expect(runnable).toBe(false)
    expect(reasons.filter(({ ok }) => !ok)).toMatchObject([{ check: 'resources-available' }])
    expect(reasons.at(-1)!.detail).toContain('effnet (no VRAM)')
    expect(reasons.at(-1)!.detail).toContain(new Date(t.now() + 60_000).toISOString())
    await t.pause()
    state.available = true
    await t.advance('1m')
    expect((await t.tasks.explain(id)).reasons.filter(({ ok }) => !ok)).toMatchObject([
      { check: 'not-paused' },
    ])
  })

  test('does not keep drained() waiting, but the first answer of its probe does', async ({ open }) => {
    const { embed, state } = model()
    const t = await open({ tasks: [embed] })
    const worker = t.work()
    const { id } = await t.enqueue(embed)
    await worker.drained()
    expect(await t.tasks.get(id)).toMatchObject({ status: 'completed' })
    await worker.stop()
    state.available = false
    await t.enqueue(embed)
    await t.work().drained()
    expect(await t.tasks.counts()).toMatchObject({ queued: 1, completed: 1 })
  })
})

describe('a probe', () => {
  test.for([
    [
      'throws',
      () => {
        throw new Error('no driver')
      },
      'no driver',
    ],
    [
      'rejects',
      async () => {
        throw new Error('no driver')
      },
      'no driver',
    ],
    ['answers nonsense', () => 42 as never, 'returned 42'],
    ['answers nothing', () => undefined as never, 'returned undefined'],
    ['names no duration', () => ({ reason: 'x', retryAfter: 'soon' as never }), 'is not a duration'],
  ] as const)('that %s counts as unavailable, and is told', async ([, probe, words], { open }) => {
    const { embed } = model({ probe })
    const t = await open({ tasks: [embed, plain] })
    const problems: unknown[] = []
    t.on('problem', ({ error }) => problems.push(error))
    const worker = t.work()
    await t.enqueue(embed)
    const other = await t.enqueue(plain)
    await t.runUntilIdle()
    expect(await t.tasks.get(other.id)).toMatchObject({ status: 'completed' })
    expect(problems).toMatchObject([{ code: 'RESOURCE_PROBE', message: expect.stringContaining(words) }])
    expect(worker.snapshot()).toMatchObject({ phase: 'backing_off', failed: null })
    expect(worker.snapshot().resources[0]!.reason).toContain(words)
  })

  test('that never answers is given up after its time-out; others run meanwhile', async ({ open }) => {
    let answers = false
    const t = await open({ tasks: [] })
    await t.close()
    const hanging: { t?: typeof t } = {}
    const { embed } = model({
      // In the engine's own time: how long it takes is up to the test.
      probe: async () => {
        if (!answers) await hanging.t!.sleep('1d')
        return true
      },
      probeTimeout: '10s',
      retryAfter: '20s',
    })
    hanging.t = await open({ tasks: [embed, plain] })
    hanging.t.on('problem', () => {})
    const handle = await hanging.t.enqueue(embed)
    const other = await hanging.t.enqueue(plain)
    await hanging.t.runUntilIdle()
    expect(await hanging.t.tasks.get(other.id)).toMatchObject({ status: 'completed' })
    const worker = hanging.t.work()
    await hanging.t.advance('11s')
    expect(worker.snapshot().resources[0]).toMatchObject({
      state: 'unavailable',
      reason: expect.stringContaining('no answer within 10000 ms'),
    })
    answers = true
    await hanging.t.advance('20s')
    expect(await hanging.t.tasks.get(handle.id)).toMatchObject({ status: 'completed' })
  })

  test('is asked once for many claims, and not while the resource is loaded', async ({ open }) => {
    const { embed, state, calls } = model()
    const t = await open({ tasks: [embed] })
    await t.enqueueMany(embed, [undefined, undefined, undefined])
    await t.runUntilIdle()
    // It takes the last of the memory itself.
    state.available = false
    await t.advance('1h')
    await t.enqueue(embed)
    await t.runUntilIdle()
    expect(await t.tasks.counts()).toMatchObject({ completed: 4 })
    expect(calls).toEqual(['probe', 'load'])
  })

  test('of one resource holds up only what needs that one', async ({ open }) => {
    const gone = defineResource({ name: 'gone', probe: () => false, load: () => 1 })
    const there = defineResource({ name: 'there', load: () => 2 })
    const both = defineTask({ name: 'both', uses: { gone, there }, run: () => {} })
    const one = defineTask({ name: 'one', uses: { there }, run: (_, ctx) => ctx.use.there })
    const t = await open({ tasks: [both, one] })
    const waits = await t.enqueue(both)
    const runs = await t.enqueue(one)
    await t.runUntilIdle()
    expect(await runs.result()).toBe(2)
    expect(await t.tasks.get(waits.id)).toMatchObject({ status: 'queued', attempts: 0 })
  })
})
