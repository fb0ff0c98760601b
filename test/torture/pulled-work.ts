import { z } from 'zod'
import { defineDiscovery, defineTask } from '../../src/index.ts'

const retry = { attempts: 1_000, backoff: 'fixed', base: '10ms' } as const

/** Its result is its effect. */
export const note = defineTask({ name: 'note', queue: 'notes', input: z.object({ id: z.number() }), retry })

/** `runs` counts how often the effect of a row was written. */
export function notesIn(table: string, run?: (row: { id: number }) => Promise<number>) {
  return defineDiscovery({
    name: 'notes',
    table,
    key: 'id',
    where: 'needs = 1',
    retry,
    ...(run === undefined ? {} : { run: (row: Record<string, any>) => run(row as { id: number }) }),
    done: (_result, row) => ({ needs: 0, runs: Number(row.runs) + 1 }),
  })
}
