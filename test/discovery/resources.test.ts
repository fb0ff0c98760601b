import { describe, expect } from 'vitest'
import { defineDiscovery, ResourceError } from '../../src/index.ts'
import { model } from '../worker/resources/model.ts'
import { left, tagFiles, test } from './library.ts'

/** Rows that a model tags. */
function tagged(run: (by: string) => string = (by) => by) {
  const gpu = model({ idleAfter: '5m' })
  const discovery = defineDiscovery({
    name: 'tag-files',
    table: 'files',
    key: 'id',
    where: 'needs_tagging = 1',
    retry: { attempts: 1, base: '1m', jitter: 0 },
    uses: { model: gpu.resource },
    run: (_, ctx) => run(ctx.use.model.embed()),
    done: (tags) => ({ tags, needs_tagging: 0 }),
  })
  return { ...gpu, discovery }
}

describe('rows that need a resource', () => {
  test('are worked on with it: it is loaded once, and unloaded when idle', async ({ shelf }) => {
    const { discovery, calls } = tagged()
    const t = await shelf(20, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
    expect(t.db.prepare('SELECT DISTINCT tags FROM files').all()).toEqual([{ tags: 'by 1' }])
    expect(calls).toEqual(['probe', 'load'])
    await t.advance('5m')
    expect(calls).toEqual(['probe', 'load', 'unload 1'])
  })

  test('are left alone while it is missing, and their worker says why; others are not', async ({ shelf }) => {
    const { discovery, state } = tagged()
    state.available = { reason: 'no VRAM', retryAfter: '1m' }
    const other = tagFiles({ name: 'other', where: 'needs_tagging = 1 AND id > 10' })
    const t = await shelf(20, { discoveries: [discovery, other] })
    const worker = t.work()
    await t.runUntilIdle()
    expect(left(t)).toBe(10)
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({ state: 'waiting', attempts: 0 })
    const { reasons } = await t.discoveries.explain('tag-files', '1')
    expect(reasons.filter(({ ok }) => !ok).map(({ check }) => check)).toContain('resources-available')
    expect(worker.snapshot()).toMatchObject({
      phase: 'backing_off',
      sources: [{ source: 'other', processed: 10 }],
    })
    state.available = true
    await t.advance('1m')
    expect(left(t)).toBe(0)
    expect(worker.snapshot().phase).toBe('idle')
  })

  test('back off without being charged when the worker is broken, and it gives up after ten', async ({
    shelf,
  }) => {
    const { discovery } = tagged(() => {
      throw new ResourceError('the GPU fell off the bus')
    })
    const t = await shelf(12, { discoveries: [discovery] })
    t.on('problem', () => {})
    const worker = t.work({ concurrency: 1 })
    await t.runUntilIdle()
    expect(worker.failed).toMatchObject({ code: 'RESOURCE_ERRORS' })
    const { items } = await t.discoveries.rows('tag-files')
    expect(items.filter(({ state }) => state === 'backing-off')).toHaveLength(10)
    expect(items.map(({ attempts }) => attempts)).toEqual(Array(12).fill(0))
    expect(items[0]).toMatchObject({ error: { message: 'the GPU fell off the bus' } })
  })

  test('show a pause of everything, although there are no tasks', async ({ shelf }) => {
    const t = await shelf(3, { discoveries: [tagged().discovery] })
    const worker = t.work({ discoveries: ['tag-files'] })
    await t.pause()
    await t.runUntilIdle()
    expect(worker.snapshot().phase).toBe('paused')
    expect(left(t)).toBe(3)
    await t.resume()
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
    expect(worker.snapshot().phase).toBe('idle')
  })
})
