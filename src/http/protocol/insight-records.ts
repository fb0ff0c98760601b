import { z } from 'zod'
import type { LimitState } from '../../model/limit.ts'
import type { History } from '../../model/metrics-history.ts'
import type { RowHistory } from '../../model/row-history.ts'
import type { Lane } from '../../model/timeline.ts'
import { HEALTHS, PHASES } from '../../model/worker.ts'
import type { Definition, Schedule, System } from '../wire/types.ts'
import { maybe, schedule as plan, timeField, whole } from './records.ts'
import { exit, WORKER_STATUSES } from './worker-records.ts'

/** What answers hold that dashboards show. */

const number = z.number()

export const history: z.ZodType<History> = z
  .object({
    asOf: timeField,
    stepMs: whole,
    steps: z.array(
      z.object({
        at: timeField,
        enqueued: whole,
        completed: whole,
        failed: whole,
        retried: whole,
        p50: maybe(number),
        p95: maybe(number),
        depth: whole,
        rowsDone: whole,
      }),
    ),
  })
  .meta({ id: 'History' })

export const rowHistory: z.ZodType<RowHistory> = z
  .object({
    asOf: timeField,
    stepMs: whole,
    doneEver: whole.describe('Rows that were ever completed'),
    steps: z.array(
      z
        .object({ at: timeField, left: maybe(whole), came: maybe(whole), done: maybe(whole) })
        .describe('Rows; null: not counted yet'),
    ),
  })
  .meta({ id: 'RowHistory' })

export const definition: z.ZodType<Definition> = z
  .object({
    name: z.string(),
    queue: z.string(),
    input: maybe(z.record(z.string(), z.unknown())).describe(
      'JSON Schema; null: its library cannot express it',
    ),
    hasInput: z.boolean(),
    maxAttempts: whole,
    timeoutMs: whole,
    requires: maybe(z.record(z.string(), z.union([z.string(), number, z.boolean()]))),
    computesRequires: z.boolean(),
    recurs: z.boolean(),
  })
  .meta({ id: 'Definition' })

export const listedSchedule: z.ZodType<Schedule> = z
  .intersection(plan, z.object({ upcoming: z.array(timeField).describe('The next occurrences') }))
  .meta({ id: 'PlannedSchedule' }) as unknown as z.ZodType<Schedule>

export const limitState: z.ZodType<LimitState> = z
  .object({
    scope: z.union([z.object({ queue: z.string() }), z.object({ task: z.string() })]),
    key: maybe(z.string()),
    limit: z.object({
      concurrency: maybe(whole),
      rate: maybe(z.object({ count: whole, perMs: number })),
    }),
    held: whole,
    room: maybe(number).describe('Null: no limit'),
    opensInMs: maybe(number),
    holders: z.array(z.string()).describe('Ids of tasks'),
  })
  .meta({ id: 'LimitState' }) as unknown as z.ZodType<LimitState>

export const lane: z.ZodType<Lane> = z
  .object({
    worker: z.string(),
    recorded: z
      .array(z.object({ from: timeField, to: timeField, health: z.enum(HEALTHS) }))
      .describe('The time before the first section, from the history of health'),
    stretches: z.array(
      z.object({
        from: timeField,
        status: z.enum(WORKER_STATUSES),
        health: z.enum(HEALTHS),
        phase: maybe(z.enum(PHASES)),
        pid: maybe(whole),
      }),
    ),
    exits: z.array(exit.extend({ pid: maybe(whole), items: z.array(z.string()) })),
  })
  .meta({ id: 'Lane' })

const keep = z.object({ ageMs: maybe(number), count: maybe(whole) })

export const system: z.ZodType<System> = z
  .object({
    server: z.object({
      version: z.string(),
      node: z.string(),
      host: z.string(),
      pid: whole,
      startedAt: timeField,
      listeners: whole,
    }),
    database: z.object({
      kind: z.enum(['sqlite', 'postgres']),
      bytes: number,
      walBytes: maybe(number),
      durability: z.enum(['full', 'normal']),
      migrations: z.array(z.object({ version: whole, name: z.string(), appliedAt: timeField })),
    }),
    backups: z.array(
      z.object({
        path: z.string(),
        startedAt: timeField,
        tookMs: number,
        bytes: maybe(number).describe('Null: the backup failed'),
        error: maybe(z.string()),
      }),
    ),
    retention: z.object({ completed: keep, failed: keep, cancelled: keep }),
    supervisors: z.array(
      z.object({
        name: z.string(),
        term: whole,
        host: z.string(),
        pid: whole,
        since: timeField,
        unseenMs: number,
        left: z.boolean(),
        workers: whole,
      }),
    ),
    totals: z.object({
      enqueued: whole,
      completed: whole,
      failed: whole,
      retried: whole,
      rowsDone: whole,
      incidents: z.record(z.string(), whole),
    }),
  })
  .meta({ id: 'System' })
