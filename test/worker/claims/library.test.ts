import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  ClaimLostError,
  defineDiscovery,
  defineTask,
  type Gleaner,
  type GleanerOptions,
  PermanentError,
  ResourceError,
  RetryLater,
  TaskCancelled,
  TimeoutError,
} from '../../../src/index.ts'
import { until } from '../../until.ts'
import { DATABASES, endSessions, type Scene, sceneOn } from './scene.ts'

const QUICK = { idleMin: '20ms', idleMax: '50ms', poll: '20ms', grace: '50ms' } as const

const embed = defineTask({ name: 'embed', queue: 'ml', input: z.object({ path: z.string() }) })
const plain = defineTask({ name: 'plain', retry: { attempts: 2, base: '1h' } })
const gpu = defineTask({ name: 'gpu', requires: { gpu: true } })
const hasty = defineTask({ name: 'hasty', timeout: '50ms', retry: { attempts: 1 } })
const tagFiles = (table: string) =>
  defineDiscovery({
    name: 'tag-files',
    table,
    key: 'id',
    where: 'needs = 1',
    retry: { attempts: 2, base: '1h' },
    done: (tags, row) => ({ needs: 0, tags: `${tags} of ${row.id}` }),
  })

describe.each(DATABASES)('claims by hand on %s', (_database, openDatabase) => {
  const optionsOn = ({ tables }: Scene) => ({
    tasks: [embed, plain, gpu, hasty],
    discoveries: [tagFiles(tables.named('files'))],
    timings: QUICK,
  })
  async function scene(options: Partial<GleanerOptions> = {}) {
    const ground = await sceneOn(openDatabase)
    return { ground, gleaner: await ground.open({ ...optionsOn(ground), ...options }) }
  }
  const only = async (
    gleaner: Gleaner,
    options: Parameters<Gleaner['claim']>[0] = { queues: ['ml', 'default'] },
  ) => {
    const [claim] = await gleaner.claim(options)
    if (claim === undefined) throw new Error('there was nothing to claim')
    return claim
  }

  test('a claim tells what to do, and its completion is the result of the task', async () => {
    const { gleaner } = await scene()
    const handle = await gleaner.enqueue(embed, { path: 'a.flac' })
    const claim = await only(gleaner, { queues: ['ml'] })
    expect(claim).toMatchObject({
      id: handle.id,
      name: 'embed',
      queue: 'ml',
      input: { path: 'a.flac' },
      attempt: 1,
    })
    expect(claim.fence).toBeGreaterThan(0)
    claim.log.info('half', { way: true })
    await claim.progress(0.5, 'half way')
    await until(
      'the progress is stored',
      async () => (await gleaner.tasks.get(claim.id))?.progress?.fraction === 0.5,
    )
    await claim.complete({ embedded: true })
    expect(await handle.result()).toEqual({ embedded: true })
    expect((await gleaner.tasks.logs(claim.id)).items).toMatchObject([{ message: 'half', attempt: 1 }])
    expect(await gleaner.claim({ queues: ['ml'] })).toEqual([])
  })

  test('a claim waits for work, and is there soon after the work is', async () => {
    const { gleaner } = await scene({ timings: { ...QUICK, idleMin: '1m', idleMax: '1m' } })
    const waiting = gleaner.claim({ queues: ['ml'], wait: '1m' })
    await until('it waits', async () => (await gleaner.workers.list()).length === 1)
    const { id } = await gleaner.enqueue(embed, { path: 'a' })
    expect(await waiting).toMatchObject([{ id }])
  })

  test('queues, names, capabilities and the limit are kept', async () => {
    const { gleaner } = await scene()
    await gleaner.enqueue(gpu)
    await gleaner.enqueueMany(plain, [undefined, undefined, undefined])
    expect(await gleaner.claim({ queues: ['ml'] })).toHaveLength(0)
    expect(await gleaner.claim({ names: ['gpu'] })).toHaveLength(0)
    expect(await gleaner.claim({ names: ['gpu'], capabilities: { gpu: true } })).toHaveLength(1)
    expect(await gleaner.claim({ limit: 2 })).toHaveLength(2)
    expect(await gleaner.claim({ limit: 2 })).toHaveLength(1)
    expect(await gleaner.claim()).toHaveLength(0)
  })

  test('a failure is retried as its task says, or as the caller says', async () => {
    const { gleaner } = await scene()
    const handles = await gleaner.enqueueMany(plain, [undefined, undefined, undefined, undefined])
    const claims = await gleaner.claim({ limit: 4 })
    await claims[0]!.fail(new Error('no'))
    await claims[1]!.fail('never', { retry: false })
    await claims[2]!.fail(new PermanentError('bad'))
    await claims[3]!.fail(new Error('soon'), { retry: '1ms' })
    const records = await Promise.all(handles.map(({ id }) => gleaner.tasks.get(id)))
    expect(records).toMatchObject([
      { status: 'scheduled', attempts: 1, error: { kind: 'error', message: 'Error: no' } },
      { status: 'failed', error: { kind: 'error', message: 'never' } },
      { status: 'failed', error: { kind: 'permanent', message: 'bad' } },
      { attempts: 1, error: { message: 'Error: soon' } },
    ])
    expect(await only(gleaner, { queues: ['default'], wait: '10s' })).toMatchObject({
      id: handles[3]!.id,
      attempt: 2,
    })
  })

  test('what is released, or not settled when its block ends, goes back and costs no attempt', async () => {
    const { gleaner } = await scene()
    const { id } = await gleaner.enqueue(plain)
    await (await only(gleaner)).release()
    {
      await using claims = await gleaner.claim()
      expect(claims).toMatchObject([{ id, attempt: 1 }])
    }
    {
      await using claim = await only(gleaner)
      expect(claim.attempt).toBe(1)
      const broken = await only(gleaner).catch((error) => error)
      expect(broken.message).toBe('there was nothing to claim')
    }
    const claim = await only(gleaner)
    await claim.fail(new ResourceError('no VRAM'))
    expect(await gleaner.tasks.get(id)).toMatchObject({ attempts: 0, status: 'scheduled' })
  })

  test('a second settlement is refused and changes nothing', async () => {
    const { gleaner } = await scene()
    const { id } = await gleaner.enqueue(plain)
    const claim = await only(gleaner)
    await claim.complete('first')
    await expect(claim.complete('second')).rejects.toThrow(ClaimLostError)
    await expect(claim.fail('no')).rejects.toThrow(ClaimLostError)
    await expect(claim.release()).rejects.toThrow(ClaimLostError)
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', result: 'first' })
  })

  test('the writes of a completion are one transaction with it', async () => {
    const { ground, gleaner } = await scene()
    await gleaner.enqueue(plain)
    const claim = await only(gleaner)
    const write = (tx: unknown) => ground.tables.within(tx, "INSERT INTO files VALUES (7, 'x', 0)")
    const broken = claim.complete('done', (tx) => {
      const written = write(tx)
      if (written instanceof Promise) return written.then(() => Promise.reject(new Error('too bad')))
      throw new Error('too bad')
    })
    await expect(broken).rejects.toThrow('too bad')
    expect(await filesOf(ground)).toEqual([])
    await claim.complete('done', (tx) => write(tx) as Promise<void>)
    expect(await filesOf(ground)).toMatchObject([{ id: 7 }])
  })

  test('a claim whose session another process ended is refused, and its signal says so', async () => {
    const { ground, gleaner } = await scene()
    const { id } = await gleaner.enqueue(plain)
    const claim = await only(gleaner)
    await endSessions(ground.database)
    const written: string[] = []
    await expect(claim.complete('late', () => void written.push('late'))).rejects.toThrow(ClaimLostError)
    expect(written).toEqual([])
    expect(claim.signal.reason).toBeInstanceOf(ClaimLostError)
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'queued', result: null })
    await (await only(gleaner)).complete('in time')
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', result: 'in time' })
  })

  test('a cancel reaches the signal of a claim, and is recorded when its caller does not answer', async () => {
    const { gleaner } = await scene()
    const handles = await gleaner.enqueueMany(plain, [undefined, undefined])
    const [heeding, deaf] = await gleaner.claim({ limit: 2 })
    for (const handle of handles) await handle.cancel()
    await until('the signal aborts', () => heeding!.signal.aborted)
    expect(heeding!.signal.reason).toBeInstanceOf(TaskCancelled)
    await heeding!.fail(heeding!.signal.reason).catch(() => {})
    await until('both are cancelled', async () => (await gleaner.tasks.counts()).cancelled === 2)
    await expect(deaf!.complete('late')).rejects.toThrow(ClaimLostError)
  })

  test('a claim that takes longer than the time-out of its task has failed', async () => {
    const { gleaner } = await scene()
    const { id } = await gleaner.enqueue(hasty)
    const claim = await only(gleaner)
    await until('it timed out', async () => (await gleaner.tasks.get(id))?.status === 'failed')
    expect(claim.signal.reason).toBeInstanceOf(TimeoutError)
    expect(await gleaner.tasks.get(id)).toMatchObject({ error: { kind: 'timeout' } })
    await expect(claim.complete()).rejects.toThrow(ClaimLostError)
  })

  test('nothing is claimed while the queue is paused', async () => {
    const { gleaner } = await scene()
    await gleaner.enqueue(embed, { path: 'a' })
    await gleaner.queues.pause('ml')
    expect(await gleaner.claim({ queues: ['ml'] })).toEqual([])
    const waiting = gleaner.claim({ queues: ['ml'], wait: '1m' })
    await gleaner.queues.resume('ml')
    expect(await waiting).toHaveLength(1)
  })

  test('input that does not fit its schema fails, and the claim goes on to the next', async () => {
    const { ground, gleaner } = await scene()
    // As a release without the schema enqueued it.
    const before = defineTask({ name: 'embed', queue: 'ml', input: z.any() })
    const bad = await (await ground.open({ tasks: [before] })).enqueue(before, { path: 1 })
    const good = await gleaner.enqueue(embed, { path: 'b' })
    expect(await gleaner.claim({ queues: ['ml'], wait: '10s' })).toMatchObject([{ id: good.id }])
    expect(await gleaner.tasks.get(bad.id)).toMatchObject({ status: 'failed', error: { kind: 'permanent' } })
  })

  test('rows are claimed the same way: done decides what is written', async () => {
    const { ground, gleaner } = await scene()
    await ground.tables.run(
      `INSERT INTO ${ground.tables.named('files')} VALUES (1, NULL, 1), (2, NULL, 1), (3, NULL, 1)`,
    )
    const claims = await gleaner.claim({ discoveries: ['tag-files'], limit: 3 })
    expect(claims).toMatchObject(
      [1, 2, 3].map((id) => ({ id: `tag-files/${id}`, queue: null, input: { id } })),
    )
    await claims[0]!.complete('rock')
    await ground.tables.run(`UPDATE ${ground.tables.named('files')} SET tags = 'edited' WHERE id = 2`)
    await expect(claims[1]!.complete('pop')).rejects.toThrow(/edited/)
    await claims[2]!.fail('broken file', { retry: false })
    expect(await filesOf(ground)).toMatchObject([{ tags: 'rock of 1' }, { tags: 'edited' }, { tags: null }])
    expect(await gleaner.discoveries.row('tag-files', '3')).toMatchObject({ state: 'quarantined' })
    expect(await gleaner.claim({ discoveries: ['tag-files'] })).toMatchObject([
      { id: 'tag-files/2', attempt: 1 },
    ])
  })

  test('a row that is completed by hand keeps no step of an earlier run', async () => {
    const { ground, gleaner } = await scene()
    const table = ground.tables.named('files')
    await ground.tables.run(`INSERT INTO ${table} VALUES (1, NULL, 1)`)
    const looking = defineDiscovery({
      ...{ name: 'tag-files', table, key: 'id', where: 'needs = 1', done: () => ({ needs: 0 }) },
      run: async (_row, ctx) => {
        await ctx.step('look', () => 'seen')
        throw new RetryLater(1)
      },
    })
    const other = await ground.open({ discoveries: [looking], timings: QUICK })
    const worker = other.work()
    await until(
      'the step is kept',
      async () => (await gleaner.discoveries.steps('tag-files', '1')).length === 1,
    )
    await worker.stop()
    const [claim] = await gleaner.claim({ discoveries: ['tag-files'], wait: '10s' })
    await claim!.complete('rock')
    expect(await gleaner.discoveries.steps('tag-files', '1')).toEqual([])
  })

  test('closing gives back what is held, ends what waits, and refuses late completions', async () => {
    const { ground, gleaner } = await scene()
    const { id } = await gleaner.enqueue(plain)
    const claim = await only(gleaner)
    const waiting = gleaner.claim({ wait: '1m' })
    await gleaner.close()
    expect(await waiting).toEqual([])
    expect(claim.signal.reason).toBeInstanceOf(ClaimLostError)
    await expect(claim.complete('late')).rejects.toThrow(ClaimLostError)
    await expect(gleaner.claim()).rejects.toMatchObject({ code: 'CLOSED' })
    const other = await ground.open(optionsOn(ground))
    expect(await other.tasks.get(id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(await other.workers.list()).toEqual([])
  })

  test('a claim by hand and a worker of the same process never hold the same task', async () => {
    const runs: string[] = []
    const counted = defineTask({ name: 'counted', run: (_, ctx) => void runs.push(ctx.id) })
    const { gleaner } = await scene({ tasks: [counted] })
    const handles = await gleaner.enqueueMany(
      counted,
      Array.from({ length: 200 }, () => undefined),
    )
    const worker = gleaner.work({ concurrency: 4 })
    for (;;) {
      const claims = await gleaner.claim({ limit: 5 })
      if (claims.length === 0) break
      for (const claim of claims) {
        runs.push(claim.id)
        await claim.complete()
      }
    }
    await worker.drained()
    expect(runs.toSorted()).toEqual(handles.map(({ id }) => id).toSorted())
  })

  test('options that are not possible are refused, and the error names what was meant', async () => {
    const { gleaner } = await scene()
    const refused: [object, RegExp][] = [
      [{ queue: ['ml'] }, /Did you mean queues/],
      [{ names: ['embd'] }, /Did you mean embed/],
      [{ discoveries: ['tag-file'] }, /tag-files/],
      [{ limit: 0 }, /whole number/],
      [{ lease: '1s' }, /duration from/],
      [{ lease: '11m' }, /10 minutes/],
      [{ wait: 'long' }, /not a duration/],
      [{ worker: 'no name!' }, /not a name/],
      [{ queues: [] }, /no task and no discovery/],
    ]
    for (const [options, message] of refused)
      await expect(gleaner.claim(options), JSON.stringify(options)).rejects.toThrow(message)
  })
})

function filesOf({ tables }: Scene) {
  return tables.rows(`SELECT * FROM ${tables.named('files')} ORDER BY id`)
}
