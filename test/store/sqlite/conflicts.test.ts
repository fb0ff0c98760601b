import { expect, onTestFinished, test } from 'vitest'
import { World } from '../../conformance/world.ts'
import { openSqliteDatabase } from '../sqlite-database.ts'

test('who saw something that another one took first is told', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  const workers = [await world.worker(), await world.worker({}, await database.open())]
  let conflicts = 0
  for (let round = 0; round < 20; round++) {
    await world.enqueue()
    const answers = await Promise.all(workers.map((worker) => worker.take()))
    const taken = answers.flatMap(({ claims }) => claims)
    expect(taken).toHaveLength(1)
    for (const answer of answers) conflicts += answer.conflicts ?? 0
    for (const [n, { claims }] of answers.entries())
      for (const claim of claims) await workers[n]!.complete(claim)
  }
  expect(conflicts).toBeGreaterThan(0)
  expect(conflicts).toBeLessThanOrEqual(20)
  expect((await workers[0]!.take()).conflicts ?? 0).toBe(0)
})
