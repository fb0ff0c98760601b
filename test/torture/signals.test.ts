import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner, openGleaner, SignalTimeout } from '../../src/index.ts'
import { Child } from '../journeys/child.ts'
import { until } from '../until.ts'
import { BOTH } from './ground/both.ts'
import type { Ground } from './ground/ground.ts'
import { flawsOf } from './ground/soundness.ts'
import { kept } from './kept-steps.ts'
import { randomFrom } from './random.ts'

/** 10 000 races and 1 000 late checkpoints in `npm run torture -- --only signals`. */
const IS_LONG = process.env.GLEANER_TORTURE !== undefined
const [RACES, LATE, ROUNDS] = IS_LONG ? [10_000, 250, 4] : [240, 10, 1]
const AT_ONCE = 60
const DELAY_MAX_MS = 12
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)
const timings = { idleMin: '50ms', idleMax: '200ms', sweep: '100ms' } as const

/** It waits twice. What it got: payloads, and `late` for a wait that timed out. */
const racing = defineTask({
  name: 'racing',
  input: z.object({ timeoutMs: z.number().nullable() }),
  async run({ timeoutMs }, ctx) {
    const got: unknown[] = []
    for (let wait = 0; wait < 2; wait++) {
      const options = timeoutMs === null ? {} : { timeout: timeoutMs }
      got.push(
        await ctx.waitFor('go', options).catch((error) => {
          if (error instanceof SignalTimeout) return 'late'
          throw error
        }),
      )
    }
    return got
  },
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function openOn(ground: Ground, lease?: '500ms'): Promise<Gleaner> {
  const gleaner = await openGleaner({
    database: ground.database,
    tasks: [racing, kept],
    timings: lease === undefined ? timings : { ...timings, lease },
    durability: 'normal',
  })
  onTestFinished(() => gleaner.close())
  return gleaner
}

test.each(BOTH)(
  'on %s no signal is lost or taken twice, whether it comes before, during or after the wait, or with its time-out',
  { timeout: 900_000 },
  async (_database, openGround) => {
    const random = randomFrom(seed)
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    // Two connections: a signal of the one races with the run of the other.
    const [worker, sender] = [await openOn(ground), await openOn(ground)]
    worker.work({ queues: ['default'], concurrency: AT_ONCE })
    const violations: string[] = []

    const race = async (n: number) => {
      const timeoutMs = random.integer(1, 10) <= 4 ? random.integer(1, DELAY_MAX_MS) : null
      const handle = await sender.enqueue(racing, { timeoutMs })
      const sent: string[] = []
      for (const payload of [`${n} a`, `${n} b`]) {
        if (random.integer(1, 10) <= 7) await pause(random.integer(0, DELAY_MAX_MS))
        const answer = await sender.signal(handle.id, 'go', payload).catch((error) => {
          if (error.code !== 'TASK_STATE') throw error
          return null
        })
        if (answer !== null) sent.push(payload)
      }
      const got = ((await handle.result({ timeout: '2m' })) as string[]).filter((one) => one !== 'late')
      const left = (await sender.tasks.steps(handle.id))
        .filter(({ kind }) => kind === 'sent')
        .map(({ value }) => value as string)
      const all = [...got, ...left]
      const isRight = all.toSorted().join() === sent.toSorted().join() && got.toSorted().join() === got.join()
      if (!isRight || (timeoutMs === null && got.length < 2))
        violations.push(`seed ${seed}: sent ${sent}; got ${got}; left ${left}; time-out ${timeoutMs}`)
    }
    for (let n = 0; n < RACES; n += AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, RACES - n) }, (_, i) => race(n + i)))
    expect(violations).toEqual([])
    expect(await flawsOf(ground)).toEqual([])
  },
)

test.each(BOTH)(
  'on %s a worker that was frozen past its lease writes no checkpoint',
  { timeout: 900_000 },
  async (_database, openGround) => {
    for (let round = 0; round < ROUNDS; round++) {
      const ground = await openGround()
      const gleaner = await openOn(ground, '500ms')
      const handles = await gleaner.enqueueMany(kept, Array(LATE).fill(undefined))
      const program = `${import.meta.dirname}/programs/late-worker.ts`
      const late = new Child(program, { database: ground.database, concurrency: LATE })
      onTestFinished(() => late.signal('SIGKILL'))
      await until('it runs all of them', async () => late.all('inside').length === LATE)
      late.signal('SIGSTOP')
      const heir = gleaner.work({ concurrency: LATE })
      const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '2m' })))
      expect(new Set(results)).toEqual(new Set(['heir']))
      // It reads this as soon as it wakes, perhaps before it knows what it lost.
      late.tell('go')
      late.signal('SIGCONT')
      await until('it has tried to keep all of them', async () => late.all('refused').length === LATE)
      expect(late.all('kept')).toEqual([])
      for (const { id } of handles)
        expect((await gleaner.tasks.steps(id)).map(({ value }) => value)).toEqual(['heir'])
      expect(await flawsOf(ground)).toEqual([])
      late.signal('SIGKILL')
      await heir.stop()
      await gleaner.close()
      await ground.clear()
    }
  },
)
