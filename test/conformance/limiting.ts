import type { Limit } from '../../src/model/limit.ts'
import type { World } from './world.ts'

/** So many at the same time. */
export const concurrency = (count: number): Limit => ({ concurrency: count, rate: null })
/** So many starts in that time. */
export const rate = (count: number, perMs: number): Limit => ({ concurrency: null, rate: { count, perMs } })

export const limitQueue = (world: World, limit: Limit | null, queue = 'default') =>
  world.store.admin.planLimits([{ queue, limit }])

/** Each key of the task. */
export const limitKeys = (world: World, limit: Limit | null, task = 'job') =>
  world.store.admin.planLimits([{ task, limit }])

/** New tasks of one key. */
export const ofKey = (world: World, limitKey: string, count: number) => world.enqueueMany(count, { limitKey })
