import { describe, expect } from 'vitest'
import { z } from 'zod'
import { type Context, defineDiscovery, defineTask, SignalTimeout } from '../../src/index.ts'
import { test } from '../testing/open-test.ts'

/** A task that records what it does. */
function recorded(run: (did: (what: string) => void, ctx: Context) => Promise<unknown>) {
  const done: string[] = []
  const task = defineTask({
    name: 'ship',
    timeout: '1h',
    retry: { attempts: 3, base: '1s', jitter: 0 },
    run: (_input, ctx) => run((what) => done.push(what), ctx),
  })
  return { task, done }
}

const schema = z.object({ by: z.string() })

describe('a wait for a signal', () => {
  test('holds no slot and charges no attempt, goes on with the payload, and neither catch nor finally runs', async ({
    open,
  }) => {
    const { task, done } = recorded(async (did, ctx) => {
      try {
        await ctx.step('charge', () => did('charge'))
        const { by } = await ctx.waitFor('approval', { schema })
        did(`approved by ${by} in attempt ${ctx.attempt}`)
        return by
      } catch {
        did('catch')
        throw new Error('no')
      } finally {
        did('finally')
      }
    })
    const other = defineTask({ name: 'other', run: async () => {} })
    const t = await open({ tasks: [task, other] })
    const handle = await t.enqueue(task)
    await t.runUntilIdle()
    expect(await t.tasks.get(handle.id)).toMatchObject({ status: 'suspended', attempts: 0 })
    // Time-outs count running time.
    const beside = await t.enqueue(other)
    await t.advance('9d')
    await beside.result()
    expect(done).toEqual(['charge'])
    const kinds = (await t.tasks.steps(handle.id)).map(({ name, kind, until }) => `${name} ${kind} ${until}`)
    expect(kinds.toSorted()).toEqual(['approval wait null', 'charge result null'])
    expect((await t.tasks.explain(handle.id)).reasons).toContainEqual(
      expect.objectContaining({
        check: 'not-suspended',
        ok: false,
        detail: expect.stringContaining('"approval"'),
      }),
    )

    expect(await t.signal(handle.id, 'approval', { by: 'ada' })).toEqual({ resumed: true })
    await t.runUntilIdle()
    expect(await handle.result()).toBe('ada')
    expect(done).toEqual(['charge', 'approved by ada in attempt 1', 'finally'])
    const outcomes = (await t.tasks.attempts(handle.id)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['suspended', 'completed'])
  })

  test('gets a signal that was sent before, and a later attempt gets the same one', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      const payloads = [await ctx.waitFor('go'), await ctx.waitFor('go')]
      did(payloads.join())
      if (ctx.attempt === 1) throw new Error('after both')
    })
    const t = await open({ tasks: [task] })
    const { id } = await t.enqueue(task, undefined, { runAfter: '1m' })
    for (const n of [1, 2, 3]) expect(await t.signal(id, 'go', n)).toEqual({ resumed: false })
    await t.advance('1h')
    expect(done).toEqual(['1,2', '1,2'])
    expect(await t.tasks.steps(id)).toMatchObject([
      { name: 'go', number: 1, kind: 'signal', value: 1 },
      { name: 'go', number: 2, kind: 'signal', value: 2 },
      { name: 'go', number: 0, kind: 'sent', value: 3 },
    ])
  })

  test('rejects with SignalTimeout when none came in time, which the handler can catch, in every attempt', async ({
    open,
  }) => {
    const { task, done } = recorded(async (did, ctx) => {
      const late = await ctx.waitFor('approval', { timeout: '7d' }).catch((error) => error)
      did(`${late instanceof SignalTimeout} ${late.code}`)
      if (ctx.attempt === 1) throw new Error('once')
      return 'refunded'
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('6d')
    expect(await t.tasks.get(handle.id)).toMatchObject({ status: 'suspended' })
    await t.advance('2d')
    expect(await handle.result()).toBe('refunded')
    expect(done).toEqual(['true SIGNAL_TIMEOUT', 'true SIGNAL_TIMEOUT'])
  })

  test('that nobody catches fails the task for good', async ({ open }) => {
    const { task } = recorded((_did, ctx) => ctx.waitFor('approval', { timeout: '1d' }))
    const t = await open({ tasks: [task] })
    const { id } = await t.enqueue(task)
    await t.advance('2d')
    const error = {
      kind: 'permanent',
      message: expect.stringContaining('signal approval did not come in time'),
    }
    expect(await t.tasks.get(id)).toMatchObject({ status: 'failed', attempts: 1, error })
  })

  test('whose payload does not fit its schema fails for good, and names the signal', async ({ open }) => {
    const { task } = recorded((_did, ctx) => ctx.waitFor('approval', { schema }))
    const t = await open({ tasks: [task] })
    const { id } = await t.enqueue(task)
    await t.runUntilIdle()
    await t.signal(id, 'approval', { by: 7 })
    await t.runUntilIdle()
    const message = expect.stringMatching(/payload of the signal approval does not fit its schema: .*by/)
    expect(await t.tasks.get(id)).toMatchObject({ status: 'failed', error: { kind: 'permanent', message } })
  })

  test('beside others and beside a sleep is over when the first of them is', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      await Promise.all([
        ctx.waitFor('a').then((value) => did(`a ${value}`)),
        ctx.waitFor('b').then((value) => did(`b ${value}`)),
        ctx.sleep('day', '1d').then(() => did('slept')),
      ])
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.runUntilIdle()
    expect(await t.signal(handle.id, 'b', 2)).toEqual({ resumed: true })
    await t.runUntilIdle()
    expect([done.splice(0), (await t.tasks.get(handle.id))?.status]).toEqual([['b 2'], 'suspended'])
    await t.advance('1d')
    expect(done.splice(0).toSorted()).toEqual(['b 2', 'slept'])
    expect(await t.signal(handle.id, 'a', 1)).toEqual({ resumed: true })
    await t.runUntilIdle()
    await handle.result()
    expect(done.toSorted()).toEqual(['a 1', 'b 2', 'slept'])
  })

  test('is found by the key of its task, and answers for what is not there say so', async ({ open }) => {
    const { task } = recorded((_did, ctx) => ctx.waitFor('approval'))
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task, undefined, { key: 'order:7' })
    await t.runUntilIdle()
    const byKey = { task, key: 'order:7' }
    await expect(t.signal({ ...byKey, key: 'order:8' }, 'approval')).rejects.toMatchObject({
      code: 'TASK_GONE',
    })
    await expect(t.signal('999', 'approval')).rejects.toMatchObject({ code: 'TASK_GONE' })
    expect(await t.signal(byKey, 'approval', 'yes')).toEqual({ resumed: true })
    await t.runUntilIdle()
    expect(await handle.result()).toBe('yes')
    await expect(t.signal(handle.id, 'approval')).rejects.toMatchObject({ code: 'TASK_STATE' })
    await expect(t.signal(byKey, 'approval')).rejects.toMatchObject({ code: 'TASK_GONE' })
    const rows = { discovery: 'none', row: '1' }
    await expect(t.signal(rows, 'approval')).rejects.toMatchObject({ code: 'UNKNOWN_DISCOVERY' })
    const large = t.signal(handle.id, 'approval', 'x'.repeat(300_000))
    await expect(large).rejects.toMatchObject({ code: 'SIGNAL_TOO_LARGE' })
    for (const bad of [7, {}, null])
      await expect(t.signal(bad as any, 'approval')).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(t.signal(handle.id, '')).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  test('gets a signal of a transaction when it commits, and none when it does not', async ({ open }) => {
    const { task } = recorded((_did, ctx) => ctx.waitFor('approval'))
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.runUntilIdle()
    const send = t.db.transaction((payload: string, fails: boolean) => {
      const sent = t.within(t.db).signal(handle.id, 'approval', payload)
      if (fails) throw new Error('rolled back')
      return sent
    })
    expect(() => send('first', true)).toThrow('rolled back')
    await t.runUntilIdle()
    expect((await t.tasks.get(handle.id))?.status).toBe('suspended')
    expect(send('second', false)).toEqual({ resumed: true })
    await t.runUntilIdle()
    expect(await handle.result()).toBe('second')
  })

  test('of a task that is cancelled is over', async ({ open }) => {
    const { task } = recorded((_did, ctx) => ctx.waitFor('approval'))
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.runUntilIdle()
    await handle.cancel()
    expect(await t.tasks.get(handle.id)).toMatchObject({ status: 'cancelled' })
    await expect(t.signal(handle.id, 'approval')).rejects.toMatchObject({ code: 'TASK_STATE' })
  })

  test('is an event', async ({ open }) => {
    const { task } = recorded((_did, ctx) => ctx.waitFor('approval', { timeout: '1d' }))
    const t = await open({ tasks: [task] })
    const heard: unknown[] = []
    t.on('suspended', ({ waits }) => heard.push(waits))
    await t.enqueue(task)
    await t.runUntilIdle()
    expect(heard).toEqual([[{ kind: 'signal', name: 'approval', number: 1, until: t.now() + 86_400_000 }]])
  })
})

describe('a row that waits for a signal', () => {
  const files = defineDiscovery({
    name: 'tag-files',
    table: 'files',
    key: 'id',
    where: 'needs = 1',
    row: z.object({ path: z.string() }),
    async run(row, ctx) {
      const tags = await ctx.step('analyse', () => `tags of ${row.path}`)
      const { by } = await ctx.waitFor('approval', { schema, timeout: '7d' })
      return `${tags}, approved by ${by}`
    },
    done: (tags) => ({ tags: String(tags), needs: 0 }),
  })
  const setup = (db: { exec(sql: string): unknown }) =>
    db.exec(`CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT, tags TEXT, needs INTEGER);
             INSERT INTO files VALUES (1, 'a.flac', NULL, 1)`)
  const row = { discovery: 'tag-files', row: '1' }

  test('is suspended, goes on with the payload, and an edit lets it begin anew', async ({ open }) => {
    const t = await open({ discoveries: [files], setup })
    await t.runUntilIdle()
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({
      state: 'suspended',
      nextAt: t.now() + 7 * 86_400_000,
    })
    t.db.exec(`UPDATE files SET path = 'b.flac'`)
    await t.advance('1m')
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({ state: 'suspended' })
    expect(await t.signal(row, 'approval', { by: 'ada' })).toEqual({ resumed: true })
    await t.runUntilIdle()
    const stored = t.db.prepare('SELECT tags, needs FROM files').get()
    expect(stored).toEqual({ tags: 'tags of b.flac, approved by ada', needs: 0 })
    await expect(t.signal(row, 'approval', { by: 'eve' })).rejects.toMatchObject({ code: 'ROW_GONE' })
    expect(await t.discoveries.steps('tag-files', '1')).toEqual([])
  })
})
