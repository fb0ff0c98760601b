import { expect, test } from 'vitest'
import { backUpUnderLoad } from './backups.ts'

/** The short form; `npm run torture` makes one every second for half a minute. */
test('each backup made under load restores to a sound state with all that was acknowledged before it', async () => {
  const damage = await backUpUnderLoad({ backups: 4, everyMs: 300, producers: 1, workers: 1 })
  expect(damage.broken).toEqual([])
  expect(damage.backups).toBe(4)
  expect(damage.acknowledged).toBeGreaterThan(20)
})
