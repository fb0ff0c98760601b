import { expect, onTestFinished, test, vi } from 'vitest'
import type { Store } from '../../../src/store/ports/store.ts'
import { Statements } from '../../../src/store/sqlite/file/statements.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

/** Does something on another connection right before the next statement with these words. */
function before(words: string, act: () => void): void {
  const sql = Statements.prototype.sql
  const scalar = Statements.prototype.scalar
  let armed = true
  const fire = (text: string) => {
    if (!armed || !text.includes(words)) return
    armed = false
    act()
  }
  const spies = [
    vi.spyOn(Statements.prototype, 'sql').mockImplementation(function (this: Statements, text) {
      fire(text)
      return sql.call(this, text)
    }),
    vi.spyOn(Statements.prototype, 'scalar').mockImplementation(function (this: Statements, text) {
      fire(text)
      return scalar.call(this, text)
    }),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
    expect(armed, `nothing asked for "${words}"`).toBe(false)
  })
}

/** Commits in the middle of somebody else's reading. */
function enqueueElsewhere(store: Store, path: string, count: number): void {
  const db = connect(path)
  const tasks = Array.from({ length: count }, () => newTask())
  db.transaction(() => store.tasks.within(db).enqueue(tasks)).immediate()
}

test('counts are of one moment: what others commit meanwhile is counted as a whole, or not', async () => {
  const path = freshPath()
  const store = await openStore(path)
  await store.tasks.enqueue(Array.from({ length: 500 }, () => newTask()))
  before('counted_through', () => enqueueElsewhere(store, path, 600))
  expect([500, 1_100]).toContain((await store.tasks.countTasks({})).queued)
  expect((await store.tasks.countTasks({})).queued).toBe(1_100)
})

test('a task that is removed while it is read is read as it was, or not at all', async () => {
  const path = freshPath()
  const store = await openStore(path)
  const input = 'x'.repeat(5_000)
  const [task] = await store.tasks.enqueue([newTask({ input: JSON.stringify(input) })])
  before('gleaner_inputs', () => {
    connect(path).exec('DELETE FROM gleaner_inputs; DELETE FROM gleaner_tasks')
  })
  expect([input, undefined]).toContain((await store.tasks.getTask(task!.id))?.input)
  expect(await store.tasks.getTask(task!.id)).toBe(null)
})
