import { expect } from 'vitest'
import { type Events, GleanerError } from '../../src/index.ts'
import type { TestGleaner } from '../../src/testing/index.ts'
import { addFiles, FILES, left, tagFiles, test } from './library.ts'

const NAME = 'tag-files'

function eventsOf(t: TestGleaner) {
  const problems: Events['problem'][] = []
  const ended: string[] = []
  t.on('problem', (problem) => problems.push(problem))
  for (const event of ['returned', 'claim-lost', 'completed', 'failed'] as const)
    t.on(event, ({ id }) => ended.push(`${event} ${id}`))
  return { problems, ended }
}

/** What a row, its discovery and its numbers say while the table does not fit. */
async function saidOf(t: TestGleaner) {
  const [record] = await t.discoveries.list()
  const { reasons, runnable } = await t.discoveries.explain(NAME, '1')
  const stats = await t.discoveries.stats(NAME).catch((error: unknown) => error)
  return { record, runnable, failed: reasons.filter(({ ok }) => !ok).map(({ check }) => check), stats }
}

test('a table that goes while its rows run gives them back, says why, and is worked on when it is back', async ({
  shelf,
}) => {
  let first = true
  const t = await shelf(3, {
    discoveries: [
      tagFiles({
        run: async (row, ctx) => {
          if (!first) return row.path
          first = false
          t.db.exec('ALTER TABLE files RENAME TO archive')
          const error = await ctx.complete('x', () => {}).catch((error: unknown) => error)
          expect(error).toMatchObject({ code: 'DISCOVERY_PAUSED' })
          return 'too late'
        },
      }),
    ],
  })
  const { problems, ended } = eventsOf(t)
  await t.runUntilIdle()
  expect(ended.every((event) => event.startsWith('returned'))).toBe(true)
  expect(new Set(problems.map(({ message }) => message))).toEqual(new Set(['discovery tag-files was paused']))
  for (const { error } of problems) {
    expect(error).toBeInstanceOf(GleanerError)
    expect(error).toMatchObject({ code: 'DISCOVERY_PAUSED', hint: expect.stringContaining('resume') })
  }
  const said = await saidOf(t)
  expect(said.record).toMatchObject({ paused: true, pausedReason: expect.stringContaining('no table files') })
  expect(said.failed).toContain('declaration-fits-table')
  expect(said.failed).toContain('discovery-not-paused')
  expect(said.runnable).toBe(false)
  expect(said.stats).toMatchObject({ code: 'BAD_DISCOVERY' })

  t.db.exec('ALTER TABLE archive RENAME TO files')
  expect(await t.discoveries.stats(NAME)).toMatchObject({ waiting: 3, claimed: 0, paused: true })
  await t.discoveries.resume(NAME)
  await t.runUntilIdle()
  expect(left(t)).toBe(0)
})

test('a table that goes while nothing runs pauses its discovery with one event', async ({ shelf }) => {
  const t = await shelf(0, {})
  const { problems } = eventsOf(t)
  t.db.exec('DROP TABLE files')
  await t.advance('1h')
  expect(problems.map(({ error }) => (error as GleanerError).code)).toEqual(['DISCOVERY_PAUSED'])
  const said = await saidOf(t)
  expect(said.record).toMatchObject({ paused: true, pausedReason: expect.stringContaining('no table files') })
  t.db.exec(FILES.replace(/CREATE TABLE effects.*/, ''))
  addFiles(t.db, 2)
  await t.discoveries.resume(NAME)
  await t.runUntilIdle()
  expect(left(t)).toBe(0)
})
