import { expect, test } from 'vitest'
import { WITH_ROWS } from './ground/both.ts'
import { tortureRows } from './row-kills.ts'

/** `npm run torture` does the same with 20 000 rows; `GLEANER_SEED` repeats a run. */
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)
const slow = { timeout: 180_000 }

test.each(WITH_ROWS)(
  'on %s each row is committed once, and nothing is left, whoever is killed whenever',
  slow,
  async (_database, open) => {
    const rows = 2_000
    const bill = await tortureRows(await open(), {
      rows,
      poison: 0,
      processes: 4,
      concurrency: 4,
      kills: 5,
      seed,
    })
    expect(bill, `GLEANER_SEED=${seed}`).toMatchObject({
      done: rows,
      effects: rows,
      quarantined: [],
      claims: 0,
      ledger: 0,
      kills: 5,
      aborted: 0,
      problems: [],
      flaws: [],
    })
  },
)

test.each(WITH_ROWS)(
  'on %s rows that throw, hang or take their worker down hurt nobody else, and are put aside with their reason',
  slow,
  async (_database, open) => {
    const rows = 600
    const poison = 6
    const bill = await tortureRows(await open(), {
      rows,
      poison,
      processes: 2,
      concurrency: 4,
      kills: 0,
      seed,
    })
    expect(bill).toMatchObject({ done: rows - poison, effects: rows - poison, claims: 0, flaws: [] })
    expect(bill.quarantined.map(({ key, state, error }) => [key, state, error?.kind])).toEqual([
      ['1', 'quarantined', 'timeout'],
      ['2', 'quarantined', 'crash'],
      ['3', 'quarantined', 'error'],
      ['4', 'quarantined', 'timeout'],
      ['5', 'quarantined', 'crash'],
      ['6', 'quarantined', 'error'],
    ])
    expect(
      bill.quarantined.filter(({ error }) => error?.kind === 'crash').map(({ crashes }) => crashes),
    ).toEqual([3, 3])
  },
)
