import { expect, test } from 'vitest'
import { BOTH } from './ground/both.ts'
import { brokenRowPromises, rowSummary, tortureRows } from './row-kills.ts'

/** `npm run torture` does the same with 20 000 rows; `GLEANER_SEED` repeats a run. */
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)
const slow = { timeout: 180_000 }

test.each(BOTH)(
  'on %s each row is committed once, and nothing is left, whoever is killed whenever',
  slow,
  async (database, open) => {
    const torture = { rows: 1_000, poison: 0, processes: 4, concurrency: 4, kills: 4, seed }
    const bill = await tortureRows(await open(), torture)
    console.log(`${database}: ${rowSummary(bill)}`)
    expect(brokenRowPromises(bill, torture), `GLEANER_SEED=${seed}`).toEqual([])
    expect(bill.aborted).toBe(0)
  },
)

test.each(BOTH)(
  'on %s rows that throw, hang or take their worker down hurt nobody else, and are put aside with their reason',
  slow,
  async (database, open) => {
    const torture = { rows: 300, poison: 3, processes: 2, concurrency: 4, kills: 0, seed }
    const bill = await tortureRows(await open(), torture)
    console.log(`${database}: ${rowSummary(bill)}`)
    expect(brokenRowPromises(bill, torture), `GLEANER_SEED=${seed}`).toEqual([])
    const crashed = bill.quarantined.filter(({ error }) => error?.kind === 'crash')
    expect(crashed.map(({ crashes }) => crashes)).toEqual([3])
    expect(bill.aborted).toBeGreaterThanOrEqual(3)
  },
)
