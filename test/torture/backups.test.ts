import { expect, test } from 'vitest'
import { backUpUnderLoad } from './backups.ts'

/** The short form; `npm run torture` makes one every second for half a minute. */
test.each([
  ['better-sqlite3', 4],
  ['node:sqlite', 2],
] as const)(
  'with %s, each backup made under load restores to a sound state with all that was acknowledged before it',
  async (library, backups) => {
    const damage = await backUpUnderLoad({ library, backups, everyMs: 300, producers: 1, workers: 1 })
    expect(damage.broken).toEqual([])
    expect(damage.backups).toBe(backups)
    expect(damage.acknowledged).toBeGreaterThan(20)
  },
)
