import { expect, test } from 'vitest'
import { SqliteGround } from './ground/sqlite.ts'
import { brokenSoakPromises, soak, soakSummary } from './soak.ts'

const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)

/** `npm run soak` does the same for as long as you like; `GLEANER_SEED` repeats the order of the kills. */
test('the quickstart goes on while its workers are killed at random: memory, descriptors and processes stay flat', {
  timeout: 180_000,
}, async () => {
  const ground = new SqliteGround()
  const bill = await soak(ground, { forMs: 4_000, killEveryMs: 700, sampleEveryMs: 250, seed })
  console.log(`soak: ${soakSummary(bill)}`)
  expect(brokenSoakPromises(bill), `GLEANER_SEED=${seed}`).toEqual([])
  expect(bill.kills).toBeGreaterThan(0)
  await ground.clear()
})
