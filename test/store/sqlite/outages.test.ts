import { expect, onTestFinished, test } from 'vitest'
import { defineTask, openGleaner } from '../../../src/index.ts'
import { freshPath } from './folder.ts'

const NO_LIMIT = 1_073_741_823
const LARGE = 'x'.repeat(1_000_000)

test.for([
  ['as it is', (error: unknown) => error],
  ['wrapped in another error', (cause: unknown) => new Error('could not write', { cause })],
] as const)('a full disk under ctx.complete costs the task no attempt: %s', async ([, thrown]) => {
  let isFull = true
  const task = defineTask({
    name: 'write',
    retry: { attempts: 1, base: '1ms' },
    run: (_: undefined, ctx) =>
      ctx.complete('written', (tx: any) => {
        const { page_count: pages } = tx.prepare('PRAGMA page_count').get()
        tx.prepare(`PRAGMA max_page_count = ${isFull ? pages + 10 : NO_LIMIT}`).get()
        try {
          tx.prepare('CREATE TABLE written AS SELECT ? AS words').run(LARGE)
        } catch (error) {
          throw thrown(error)
        }
      }),
  })
  const gleaner = await openGleaner({ database: `sqlite:${freshPath()}`, tasks: [task] })
  onTestFinished(() => gleaner.close())
  const failed = new Promise((resolve) => gleaner.on('problem', resolve))
  const handle = await gleaner.enqueue(task)
  gleaner.work()
  expect(await failed).toMatchObject({ message: expect.stringContaining(`write/${handle.id}`) })
  isFull = false
  expect(await handle.result()).toBe('written')
  const attempts = await gleaner.tasks.attempts(handle.id)
  expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, 'later'],
    [1, 'completed'],
  ])
})

test('a constraint that the callback breaks is a failure of its handler', async () => {
  const task = defineTask({
    name: 'write',
    retry: { attempts: 1 },
    run: (_: undefined, ctx) =>
      ctx.complete('written', (tx: any) => {
        tx.prepare('CREATE TABLE written (id INTEGER NOT NULL)').run()
        tx.prepare('INSERT INTO written VALUES (NULL)').run()
      }),
  })
  const gleaner = await openGleaner({ database: `sqlite:${freshPath()}`, tasks: [task] })
  onTestFinished(() => gleaner.close())
  const handle = await gleaner.enqueue(task)
  gleaner.work()
  await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
})
