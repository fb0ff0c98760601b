import { z } from 'zod'
import type { Health } from '../../model/worker.ts'
import { readAlerts } from '../../observe/alerts.ts'
import { component, flag, page } from '../fields.ts'
import { pageOf } from '../records.ts'
import { type Desk, type Route, route } from '../route.ts'
import type { HealthReport } from '../wire.ts'
import { health, healthRecord } from '../worker-records.ts'

export const healthRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/health',
    role: 'viewer',
    summary: 'The health of each worker, and alerts',
    answer: health,
    handle: (desk) => healthOf(desk),
  }),
  route({
    method: 'get',
    path: '/health/history',
    role: 'viewer',
    summary: 'Earlier health of components, the newest first',
    query: z.strictObject({ component: component.optional(), changes: flag.optional(), ...page }),
    answer: pageOf(healthRecord),
    handle: ({ inside }, { query: { component, changes, limit, cursor } }) =>
      inside.store.sessions.healthHistory({ component, changes }, { limit, cursor: cursor ?? null }),
  }),
]

export async function healthOf(desk: Pick<Desk, 'gleaner' | 'inside' | 'alerts'>): Promise<HealthReport> {
  const workers = await desk.gleaner.workers.list()
  const components = workers.map(({ id, health }) => ({ id, status: health }))
  const worst = WORST_FIRST.find((status) => components.some((one) => one.status === status))
  return { status: worst ?? 'healthy', components, alerts: await readAlerts(desk.inside.store, desk.alerts) }
}

const WORST_FIRST: readonly Health[] = ['failed', 'unhealthy', 'pending', 'healthy']
