import { describe, expect } from 'vitest'
import { defineTask } from '../../../src/index.ts'
import type { TestGleaner } from '../../../src/testing/index.ts'
import { deferred } from '../../journeys/deferred.ts'
import { openTemp } from '../../temp-database.ts'
import { test } from '../../testing/open-test.ts'
import { until } from '../../until.ts'
import { model } from './model.ts'

describe('unloading', () => {
  test('happens when nobody has used it for idleAfter; the next use loads it again', async ({ open }) => {
    const { embed, calls } = model({ idleAfter: '5m' })
    const t = await open({ tasks: [embed] })
    const worker = t.work()
    await t.enqueue(embed)
    await t.advance('299s')
    // Each use begins the time anew.
    await t.enqueue(embed)
    await t.advance('299s')
    expect(calls).toEqual(['probe', 'load'])
    expect(worker.snapshot()).toMatchObject({ phase: 'idle', resources: [{ state: 'loaded' }] })
    await t.advance('1s')
    expect(calls).toEqual(['probe', 'load', 'unload 1'])
    expect(worker.snapshot()).toMatchObject({ phase: 'idle', resources: [{ state: 'unloaded' }] })
    const handle = await t.enqueue(embed)
    await t.runUntilIdle()
    expect(await handle.result()).toBe('by 2')
    expect(calls).toEqual(['probe', 'load', 'unload 1', 'probe', 'load'])
  })

  test('does not happen under a run, however long that takes', async ({ open }) => {
    const ground: { t?: TestGleaner } = {}
    const { resource, state, calls } = model({ idleAfter: '1m' })
    const long = defineTask({
      name: 'long',
      timeout: '1d',
      uses: { resource },
      run: async (_, ctx) => {
        await ground.t!.sleep('1h')
        return `${ctx.use.resource.embed()}, ${state.loaded} loaded`
      },
    })
    ground.t = await open({ tasks: [long] })
    const handle = await ground.t.enqueue(long)
    await ground.t.advance('59m')
    expect(calls).toEqual(['probe', 'load'])
    await ground.t.advance('1m')
    expect(await handle.result()).toBe('by 1, 1 loaded')
    await ground.t.advance('1m')
    expect(calls).toEqual(['probe', 'load', 'unload 1'])
  })

  test('happens when the last worker that may need it stops, and when the engine closes', async ({
    open,
  }) => {
    const { embed, calls } = model()
    const t = await open({ tasks: [embed] })
    const first = t.work()
    const second = t.work()
    await t.enqueue(embed)
    await t.runUntilIdle()
    await first.stop()
    expect(calls).toEqual(['probe', 'load'])
    await second.stop()
    expect(calls).toEqual(['probe', 'load', 'unload 1'])
    t.work()
    await t.enqueue(embed)
    await t.runUntilIdle()
    await t.close()
    expect(calls).toEqual(['probe', 'load', 'unload 1', 'probe', 'load', 'unload 2'])
  })

  test('is left to a run that outlives its worker: it is not unloaded under its feet', async () => {
    const { resource, state, calls } = model()
    const started = deferred<void>()
    const release = deferred<void>()
    const stubborn = defineTask({
      name: 'stubborn',
      uses: { resource },
      run: async (_, ctx) => {
        started.resolve()
        // It does not heed its signal.
        await release.promise
        calls.push(`used with ${state.loaded} loaded, ${ctx.use.resource.embed()}`)
      },
    })
    const gleaner = await openTemp({ tasks: [stubborn] })
    await gleaner.enqueue(stubborn)
    const worker = gleaner.work()
    await started.promise
    await worker.stop({ drain: 0 })
    expect(calls).toEqual(['probe', 'load'])
    release.resolve()
    await until('it is unloaded', () => calls.length === 4)
    expect(calls).toEqual(['probe', 'load', 'used with 1 loaded, by 1', 'unload 1'])
  })

  test.for([
    [
      'throws',
      () => {
        throw new Error('busy')
      },
      'busy',
    ],
    [
      'rejects',
      async () => {
        throw new Error('busy')
      },
      'busy',
    ],
    ['hangs', () => new Promise<void>(() => {}), 'no answer within 2000 ms'],
  ] as const)('that %s is told, and the worker goes on', async ([how, unload, words], { open }) => {
    const ground: { t?: TestGleaner } = {}
    const { embed } = model({
      idleAfter: '1m',
      unload: how === 'hangs' ? async () => void (await ground.t!.sleep('10m')) : unload,
      unloadTimeout: '2s',
    })
    ground.t = await open({ tasks: [embed] })
    const { t } = ground as { t: TestGleaner }
    const problems: unknown[] = []
    t.on('problem', ({ error }) => problems.push(error))
    await t.enqueue(embed)
    await t.advance('1m')
    const handle = await t.enqueue(embed)
    await t.advance('3s')
    expect(await t.tasks.get(handle.id)).toMatchObject({ status: 'completed', result: 'by 2' })
    expect(problems).toMatchObject([{ code: 'RESOURCE_UNLOAD', message: expect.stringContaining(words) }])
  })
})
