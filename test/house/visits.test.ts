import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import budgets from '../../tools/architecture/budgets.json' with { type: 'json' }
import { testMigrated as onPostgres } from '../store/postgres/place.ts'
import { tempDatabase } from '../temp-database.ts'

const RUNS_MAX = 8
const tool = fileURLToPath(import.meta.resolve('../../tools/architecture/visits.ts'))

/** A process of its own, so that nothing but the task or the row is counted. */
async function visitsOf(...args: string[]): Promise<{ files: number; functions: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [tool, ...args])
  return JSON.parse(stdout)
}

async function expectWithin(kind: 'task' | 'row', store: 'sqlite' | 'postgres', ...place: string[]) {
  const most = budgets.visits[`${kind} on ${store}`]
  // The engine's own maintenance may fall into a run and is counted with it, on a busy machine into many. A run without it decides.
  for (let run = 1; ; run++) {
    const visits = await visitsOf(kind, ...place)
    console.log(`${kind} on ${store}: ${JSON.stringify(visits)}, at most ${JSON.stringify(most)}`)
    expect(visits.files).toBeGreaterThan(10)
    if (visits.files <= most.files && visits.functions <= most.functions) return
    if (run === RUNS_MAX) expect(visits).toEqual(most)
  }
}

test.for(['task', 'row'] as const)(
  'one %s on SQLite visits no more files and functions than before',
  async (kind) => {
    await expectWithin(kind, 'sqlite', `sqlite:${tempDatabase()}`)
  },
)

for (const kind of ['task', 'row'] as const) {
  onPostgres(
    `one ${kind} on PostgreSQL visits no more files and functions than before`,
    async ({ place }) => {
      await expectWithin(kind, 'postgres', place.url, place.schema)
    },
  )
}
