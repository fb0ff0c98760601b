import { expect, test } from 'vitest'
import { BOTH } from './ground/both.ts'
import { brokenPromises, summary, torture } from './random-kills.ts'

/** `npm run torture` kills hundreds of times; `GLEANER_SEED` repeats a run. */
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)

test.each(BOTH)(
  'on %s everything acknowledged ends, each effect once, whoever is killed whenever',
  { timeout: 180_000 },
  async (database, open) => {
    const damage = await torture(await open(), { seed, kills: 16, producers: 1, workers: 2 })
    console.log(`${database}: ${summary(damage)}`)
    expect(brokenPromises(damage), `GLEANER_SEED=${seed}`).toEqual([])
    expect(damage.kills).toBeGreaterThanOrEqual(16)
    expect(damage.producersKilled).toBeGreaterThan(0)
    expect(damage.workersKilled).toBeGreaterThan(0)
    expect(damage.acknowledged).toBeGreaterThan(0)
  },
)
