import { z } from 'zod'
import { readAlerts } from '../../queue/alerts.ts'
import { component, flag, page } from '../fields.ts'
import { health, healthRecord, pageOf } from '../records.ts'
import { type Desk, type Route, route } from '../route.ts'
import type { HealthReport } from '../wire.ts'

export const healthRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/health',
    role: 'viewer',
    summary: 'How each worker is, and what a person should look at',
    answer: health,
    handle: (desk) => healthOf(desk),
  }),
  route({
    method: 'get',
    path: '/health/history',
    role: 'viewer',
    summary: 'How components were, the newest first',
    query: z.strictObject({ component: component.optional(), changes: flag.optional(), ...page }),
    answer: pageOf(healthRecord),
    handle: ({ inside }, { query: { component, changes, limit, cursor } }) =>
      inside.store.healthHistory({ component, changes }, { limit, cursor: cursor ?? null }),
  }),
]

export async function healthOf({ inside, alerts }: Pick<Desk, 'inside' | 'alerts'>): Promise<HealthReport> {
  return { alerts: await readAlerts(inside.store, alerts) }
}
