import { expect } from 'vitest'
import { test } from './place.ts'
import { EFFECTS, effect, quick, tasks } from './tasks.ts'

test("the app's own write transactions and ours share one file, and nobody is told that it is busy", async ({
  place,
}) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(`${EFFECTS}; CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)`)
  const apps = [1, 2].map(() => place.start('app.ts'))
  const workers = [1, 2].map(() => place.start('worker.ts', { concurrency: 5 }))
  await Promise.all(apps.map((app) => app.hears('writing')))
  const handles = await Promise.all([
    ...Array.from({ length: 150 }, (_, n) => gleaner.enqueue(quick, n)),
    ...Array.from({ length: 150 }, () => gleaner.enqueue(effect)),
  ])
  await Promise.all(handles.map((handle) => handle.result({ timeout: '40s' })))
  for (const app of apps) app.tell('stop')
  const written = await Promise.all(apps.map(async (app) => (await app.hears('wrote')).count as number))
  for (const worker of workers) {
    expect(worker.all('problem')).toEqual([])
    expect(worker.errors).toBe('')
  }
  for (const app of apps) expect(app.errors).toBe('')
  const db = place.connect()
  expect(db.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(written[0]! + written[1]!)
  expect(Math.min(...written)).toBeGreaterThan(0)
  expect(await gleaner.tasks.counts()).toMatchObject({ completed: 300, failed: 0 })
  // No attempt failed on the way, either.
  expect(db.prepare('SELECT task, outcome, error FROM gleaner_attempts').all()).toEqual([])
})
