import { hostname } from 'node:os'
import { z } from 'zod'
import type { RetentionOptions } from '../../maintenance/retention.ts'
import { pageQuery, retention, windowQuery } from '../protocol/fields.ts'
import { action, info, pageSchema, stats } from '../protocol/records.ts'
import { version } from '../protocol/version.ts'
import { type Route, route } from './route.ts'

const finding = z.object({
  what: z.string(),
  examples: z.array(z.record(z.string(), z.unknown())),
  repaired: z.literal(true).optional(),
})

export const serverRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/info',
    role: 'viewer',
    summary: 'About this server, and what the caller may do',
    answer: info,
    handle: async ({ inside, startedAt }, { caller }) => ({
      version,
      database: inside.store.remote ? 'postgres' : 'sqlite',
      host: hostname(),
      pid: process.pid,
      startedAt,
      now: Date.now(),
      paused: await inside.store.admin.everythingIsPaused(),
      role: caller.role,
      user: caller.user,
      signedIn: caller.signedIn,
      tasks: inside.registry.tasks.map(({ name, queue }) => ({ name, queue })),
    }),
  }),
  route({
    method: 'get',
    path: '/stats',
    role: 'viewer',
    summary: 'Depth, rates, errors and durations: in total, per queue and per task',
    query: windowQuery,
    answer: stats,
    handle: async ({ gleaner }, { query }) => ({
      counts: await gleaner.tasks.counts(),
      ...(await gleaner.metrics(query as { window?: number })),
    }),
  }),
  route({
    method: 'get',
    path: '/actions',
    role: 'viewer',
    summary: 'The actions of operators, the newest first',
    query: pageQuery,
    answer: pageSchema(action),
    handle: ({ inside }, { query: { limit, cursor } }) =>
      inside.store.admin.listActions({ limit, cursor: cursor ?? null }),
  }),
  route({
    method: 'post',
    path: '/maintenance/checkpoint',
    role: 'operator',
    summary: 'Copies the write-ahead log into the database file',
    answer: z.object({ complete: z.boolean() }),
    action: 'maintenance.checkpoint',
    handle: ({ gleaner }) => gleaner.maintenance.checkpoint(),
  }),
  route({
    method: 'post',
    path: '/maintenance/check',
    role: 'operator',
    summary:
      'Checks the database and lists the problems found; gives back tasks that no live worker holds. Takes long on a large database',
    answer: z.object({
      items: z.array(finding),
    }),
    action: 'maintenance.check',
    handle: async ({ gleaner }) => ({ items: await gleaner.maintenance.check() }),
  }),
  route({
    method: 'post',
    path: '/maintenance/prune',
    role: 'operator',
    summary: 'Removes finished tasks, by the retention of this server or by the one in the body',
    body: retention,
    answer: z.object({ removed: z.int() }),
    action: 'maintenance.prune',
    tells: true,
    handle: ({ gleaner }, { body, tell }) =>
      gleaner.maintenance.prune(Object.keys(body).length === 0 ? undefined : (body as RetentionOptions), {
        onProgress: tell,
      }),
  }),
]
