import { expect, test } from 'vitest'
import { World } from '../conformance/world.ts'
import { openPostgresDatabase } from '../store/postgres-database.ts'
import { openSqliteDatabase } from '../store/sqlite-database.ts'
import { runFlows } from './flows.ts'

/** 10 000 in `npm run torture -- --only flows`. */
const isLong = process.env.GLEANER_TORTURE !== undefined
const SEED = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)
/** Tasks stay: lists grow with each run. */
const RUNS_OF_A_DATABASE = 5

const PLACES = [
  {
    name: 'SQLite',
    open: () => openSqliteDatabase({ durability: 'normal' }),
    runs: isLong ? Number(process.env.GLEANER_RUNS ?? 10_000) : 40,
  },
  { name: 'PostgreSQL', open: openPostgresDatabase, runs: isLong ? 1_000 : 10 },
]

test.for(PLACES)('no task waits for ever, whatever ends and whoever dies ($name)', async ({ open, runs }) => {
  for (let from = 0; from < runs; from += RUNS_OF_A_DATABASE) {
    const database = await open()
    const world = new World(database, await database.open())
    try {
      for (let run = from; run < Math.min(runs, from + RUNS_OF_A_DATABASE); run++) {
        const seed = SEED + run
        expect({ seed, waiting: await runFlows(world, seed) }).toEqual({ seed, waiting: [] })
      }
      expect({ from: SEED + from, flaws: await world.store.maintenance.check() }).toEqual({
        from: SEED + from,
        flaws: [],
      })
    } finally {
      await database.destroy()
    }
  }
})
