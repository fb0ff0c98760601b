import { z } from 'zod'
import type { LimitState } from '../../model/limit.ts'
import { historyOf, rangeStart } from '../../model/metrics-history.ts'
import { occurrenceAfter, type Schedule as Plan } from '../../model/schedule.ts'
import { name, rangeQuery } from '../protocol/fields.ts'
import { definition, history, lane, limitState, listedSchedule, system } from '../protocol/insight-records.ts'
import { jsonSchemaOf } from '../protocol/json-schema.ts'
import { listOf } from '../protocol/records.ts'
import type { Definition, Schedule } from '../wire/types.ts'
import { type Route, type RouteServices, route } from './route.ts'
import { systemOf } from './system.ts'

const UPCOMING = 5
/** Tasks that are asked what limits them. */
const ASKED_MAX = 10

/** What a dashboard shows beside the records themselves. */
export const insightRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/stats/history',
    role: 'viewer',
    summary: 'Counts, rates and durations of the last hour, day or week, step by step',
    query: rangeQuery,
    answer: history,
    async handle({ inside }, { query: { range } }) {
      const now = Date.now()
      const windowMs = now - rangeStart(range, now)
      const [readings, levels] = await Promise.all([
        inside.store.admin.readMetrics(windowMs),
        inside.store.admin.readLevels(null, windowMs),
      ])
      return historyOf(readings, levels, range)
    },
  }),
  route({
    method: 'get',
    path: '/definitions',
    role: 'viewer',
    summary: 'The tasks that can be enqueued here, with the schemas of their input',
    answer: listOf(definition),
    handle: ({ inside }) => ({ items: inside.registry.tasks.map(({ name }) => definitionOf(inside, name)) }),
  }),
  route({
    method: 'get',
    path: '/schedules',
    role: 'viewer',
    summary: 'Schedules, with their next occurrences',
    answer: listOf(listedSchedule),
    handle: async ({ gleaner }) => ({
      items: (await gleaner.schedules.list()).map((one): Schedule => ({ ...one, upcoming: upcoming(one) })),
    }),
  }),
  route({
    method: 'get',
    path: '/queues/:name/limits',
    role: 'viewer',
    summary: 'The limits of a queue and the tasks that hold them; of limit keys, only those in use',
    params: z.strictObject({ name }),
    answer: listOf(limitState),
    handle: async (desk, { params: { name } }) => ({ items: await limitsOf(desk, name) }),
  }),
  route({
    method: 'get',
    path: '/workers/timeline',
    role: 'viewer',
    summary:
      'What the workers of this supervisor have done since it started, how their processes ended, and the recorded health of all workers in the last four hours',
    answer: z.object({ now: z.int(), items: z.array(lane) }),
    handle: async ({ lanes }) => ({ now: Date.now(), items: await lanes.all() }),
  }),
  route({
    method: 'get',
    path: '/system',
    role: 'viewer',
    summary: 'The database, the retention, supervisors, and totals since the database was created',
    answer: system,
    handle: (desk) => systemOf(desk),
  }),
]

function definitionOf({ registry }: RouteServices['inside'], name: string): Definition {
  const { queue, input, retry, timeoutMs, requires, requiresOf, recurrence } = registry.get(name)!
  return {
    name,
    queue,
    input: jsonSchemaOf(input),
    hasInput: input !== undefined,
    maxAttempts: retry.attempts,
    timeoutMs,
    requires,
    computesRequires: requiresOf !== null,
    recurs: recurrence !== null,
  }
}

function upcoming(one: Plan & { nextAt: number | null }): number[] {
  const times = one.nextAt === null ? [] : [one.nextAt]
  while (times.length > 0 && times.length < UPCOMING) {
    const last = times.at(-1)!
    times.push(occurrenceAfter(one, last, last))
  }
  return times
}

/** Tasks know what limits them: a few that run and one that waits tell of all that is held. */
async function limitsOf({ gleaner, inside }: RouteServices, queue: string): Promise<LimitState[]> {
  const running = await gleaner.tasks.list({ queue, status: 'running', limit: ASKED_MAX })
  const waiting = await gleaner.tasks.list({ queue, status: 'queued', limit: 1 })
  const any = await gleaner.tasks.list({ queue, limit: 1 })
  const found = new Map<string, LimitState>()
  for (const { id } of [...running.items, ...waiting.items, ...any.items].slice(0, ASKED_MAX))
    for (const state of await inside.store.tasks.limitsOn(id))
      if (state.limit.concurrency !== null || state.limit.rate !== null)
        found.set(JSON.stringify([state.scope, state.key]), state)
  return [...found.values()]
}
