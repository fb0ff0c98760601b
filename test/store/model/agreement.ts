import { expect } from 'vitest'
import { TASK_STATUSES } from '../../../src/model/task.ts'
import type { ModelStore } from './model-store.ts'
import type { RealStore } from './real-store.ts'

/** Both say the same of every task, every count, and the order of the queue. */
export async function expectAgreement(model: ModelStore, real: RealStore): Promise<void> {
  const now = real.clock.now()
  const listed = (await real.listed()).map((task) => ({
    id: task.id,
    name: task.name,
    queue: task.queue,
    status: task.status,
    priority: task.priority,
    attempts: task.attempts,
    maxAttempts: task.maxAttempts,
    crashes: task.crashes,
    key: task.key,
    errorKind: task.error?.kind ?? null,
  }))
  const expected = model.tasks.map((task) => ({
    id: task.id,
    name: task.name,
    queue: task.queue,
    status: model.statusOf(task, now),
    priority: task.priority,
    attempts: task.attempts,
    maxAttempts: task.maxAttempts,
    crashes: task.crashes,
    key: task.key,
    errorKind: task.errorKind,
  }))
  expect(listed.toReversed(), 'the tasks').toEqual(expected)

  const counts = Object.fromEntries(
    TASK_STATUSES.map((status) => [status, model.inStatus(status, now).length]),
  )
  expect(await real.store.tasks.countTasks({}), 'the counts').toEqual(counts)

  for (const queue of new Set(model.tasks.map((task) => task.queue))) {
    const queued = (await real.listed('queued', queue)).map(({ id }) => id)
    const waiting = model.inStatus('queued', now).filter((task) => task.queue === queue)
    const inOrder = model.inOrder(waiting).map(({ id }) => id)
    expect(queued, `the order of the queue ${queue}`).toEqual(inOrder)
  }
}

/** At the end of a run, because it asks once for each task. */
export async function expectSameHistories(model: ModelStore, real: RealStore): Promise<void> {
  for (const task of model.tasks) {
    const outcomes = (await real.store.tasks.taskAttempts(task.id)).map(({ outcome }) => outcome)
    const running = task.holder?.started ? ['running'] : []
    expect(outcomes, `the attempts of task ${task.id}`).toEqual([...task.history, ...running])
  }
}
