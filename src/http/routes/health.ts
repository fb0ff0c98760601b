import { z } from 'zod'
import type { ComponentRecord } from '../../model/health.ts'
import type { Health, WorkerRecord } from '../../model/worker.ts'
import { readAlerts } from '../../observe/alerts.ts'
import { component, flag, page, timeQuery } from '../protocol/fields.ts'
import { pageSchema } from '../protocol/records.ts'
import { componentRecord, health, healthRecord } from '../protocol/worker-records.ts'
import type { HealthReport } from '../wire/types.ts'
import { type Route, type RouteServices, route } from './route.ts'

export const healthRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/health',
    role: 'viewer',
    summary: 'The health of each worker and component, and alerts',
    answer: health,
    handle: (desk) => healthReport(desk),
  }),
  route({
    method: 'get',
    path: '/components',
    role: 'viewer',
    summary: 'The components of yours that health monitors report',
    answer: z.object({ items: z.array(componentRecord) }),
    handle: async ({ gleaner }) => ({ items: await gleaner.health.components() }),
  }),
  route({
    method: 'get',
    path: '/health/history',
    role: 'viewer',
    summary: 'Earlier health of components, the newest first',
    query: z.strictObject({
      component: component.optional(),
      changes: flag.optional(),
      since: timeQuery.optional().describe('From this time on, in milliseconds since 1970'),
      until: timeQuery.optional().describe('Before this time'),
      ...page,
    }),
    answer: pageSchema(healthRecord),
    handle: ({ inside }, { query: { limit, cursor, ...filter } }) =>
      inside.store.sessions.healthHistory(filter, { limit, cursor: cursor ?? null }),
  }),
]

export async function healthReport(
  desk: Pick<RouteServices, 'gleaner' | 'inside' | 'alerts'>,
): Promise<HealthReport> {
  const [workers, own] = await Promise.all([desk.gleaner.workers.list(), desk.gleaner.health.components()])
  const components = [...workers.map(ofWorker), ...own.map(ofComponent)]
  const worst = WORST_FIRST.find((status) => components.some((one) => one.status === status))
  return { status: worst ?? 'healthy', components, alerts: await readAlerts(desk.inside.store, desk.alerts) }
}

type Part = HealthReport['components'][number]

function ofWorker({ id, health, current }: WorkerRecord): Part {
  return { id, status: health, kind: 'worker', since: null, item: current[0]?.item ?? null, lost: false }
}

function ofComponent({ id, status, since, item, lost }: ComponentRecord): Part {
  return { id, status, kind: 'component', since, item, lost }
}

const WORST_FIRST: readonly Health[] = ['failed', 'unhealthy', 'pending', 'healthy']
