import { z } from 'zod'
import type { SignalSent } from '../../define/types.ts'
import { type ActionRecord, ROLES } from '../../model/action.ts'
import type { Explanation } from '../../model/explanation.ts'
import type { DatabaseUse, Gauges, Metrics } from '../../model/metrics.ts'
import { type QueueRecord, STRATEGIES } from '../../model/queue.ts'
import { INELIGIBLE, ROW_STATES, type RowRecord } from '../../model/row.ts'
import type { ScheduleRecord } from '../../model/schedule.ts'
import type { StepRecord } from '../../model/step.ts'
import {
  type AttemptRecord,
  type Counts,
  type Failure,
  type LogLine,
  TASK_STATUSES,
  type TaskRecord,
} from '../../model/task.ts'
import type { BulkAnswer } from '../../queue/bulk.ts'
import type { Discovery, Enqueued, ErrorBody, Info } from '../wire/types.ts'

/** What answers hold. The types are those of the library: a record is the same everywhere. */

export const whole = z.int()
export const timeField = z.int().describe('Milliseconds since 1970')
export const maybe = <T extends z.ZodType>(schema: T) => schema.nullable()

export const failure: z.ZodType<Failure> = z.object({
  kind: z.enum(['error', 'timeout', 'crash', 'permanent']),
  message: z.string(),
  stack: maybe(z.string()),
})

const countFields = Object.fromEntries(TASK_STATUSES.map((status) => [status, whole])) as Record<
  (typeof TASK_STATUSES)[number],
  typeof whole
>
export const counts: z.ZodType<Counts> = z.object(countFields).meta({ id: 'Counts' })

export const task: z.ZodType<TaskRecord> = z
  .object({
    id: z.string(),
    name: z.string(),
    queue: z.string(),
    status: z.enum(TASK_STATUSES),
    priority: whole,
    attempts: whole,
    maxAttempts: whole,
    crashes: whole,
    input: z.unknown(),
    result: z.unknown(),
    error: maybe(failure),
    progress: maybe(z.object({ fraction: z.number(), message: maybe(z.string()) })),
    key: maybe(z.string()),
    requires: maybe(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))),
    worker: maybe(z.string()),
    createdAt: timeField,
    runAfter: maybe(timeField),
    startedAt: maybe(timeField),
    finishedAt: maybe(timeField),
  })
  .meta({ id: 'Task' })

export const attempt: z.ZodType<AttemptRecord> = z
  .object({
    attempt: whole,
    worker: maybe(z.string()),
    outcome: z.enum([
      'running',
      'completed',
      'cancelled',
      'later',
      'suspended',
      'returned',
      'lease',
      'error',
      'timeout',
      'crash',
      'permanent',
    ]),
    startedAt: maybe(timeField),
    finishedAt: maybe(timeField),
    error: maybe(failure),
  })
  .meta({ id: 'Attempt' })

export const signalSent: z.ZodType<SignalSent> = z
  .object({ resumed: z.boolean().describe('False: the signal is kept until a run waits for it') })
  .meta({ id: 'SignalSent' })

export const step: z.ZodType<StepRecord> = z
  .object({
    name: z.string(),
    number: whole,
    kind: z.enum(['result', 'cursor', 'sleep', 'wait', 'signal', 'timeout', 'sent', 'children']),
    value: z.unknown(),
    attempt: whole,
    startedAt: timeField,
    keptAt: timeField,
    until: maybe(timeField),
  })
  .meta({ id: 'Step' })

export const logLine: z.ZodType<LogLine> = z
  .object({
    at: timeField,
    attempt: whole,
    level: z.enum(['debug', 'info', 'warn', 'error']),
    message: z.string(),
    details: z.unknown(),
  })
  .meta({ id: 'LogLine' })

export const explanation: z.ZodType<Explanation> = z
  .object({
    runnable: z.boolean(),
    reasons: z.array(
      z.object({ check: z.string(), ok: z.boolean(), detail: z.string(), fix: maybe(z.string()) }),
    ),
  })
  .meta({ id: 'Explanation' }) as z.ZodType<Explanation>

export const queue: z.ZodType<QueueRecord> = z
  .object({
    name: z.string(),
    paused: z.boolean(),
    strategy: z.enum(STRATEGIES),
    ageingMs: maybe(whole),
    ...countFields,
    chosen: z.array(z.object({ worker: z.string(), strategy: z.enum(STRATEGIES) })),
  })
  .meta({ id: 'Queue' })

export const schedule: z.ZodType<ScheduleRecord> = z
  .object({
    name: z.string(),
    every: z.string(),
    timezone: maybe(z.string()),
    nextAt: maybe(timeField),
    lastAt: maybe(timeField),
    lastTask: maybe(z.string()),
    paused: z.boolean(),
  })
  .meta({ id: 'Schedule' })

export const action: z.ZodType<ActionRecord> = z
  .object({
    id: z.string(),
    at: timeField,
    action: z.string(),
    target: maybe(z.string()),
    role: z.enum(ROLES),
    user: maybe(z.string()),
    address: maybe(z.string()),
    details: z.unknown(),
  })
  .meta({ id: 'Action' })

export const bulkAnswer: z.ZodType<BulkAnswer> = z
  .object({
    changed: whole,
    statuses: z
      .partialRecord(z.enum(TASK_STATUSES), whole)
      .describe('How many of them were in each status before'),
    refused: whole,
    refusals: z.array(
      z.object({ id: z.string(), reason: z.enum(['key-held', 'running']), by: maybe(z.string()) }),
    ),
    dryRun: z.boolean(),
  })
  .meta({ id: 'BulkAnswer' })

export const enqueued: z.ZodType<Enqueued> = z
  .object({ id: z.string(), created: z.boolean() })
  .meta({ id: 'Enqueued' })

const rates = {
  perMinute: z.object({
    enqueued: z.number(),
    completed: z.number(),
    failed: z.number(),
    retried: z.number(),
  }),
  errorRate: maybe(z.number()),
  durationMs: maybe(z.object({ p50: z.number(), p95: z.number(), p99: z.number() })),
}
const gauges = {
  depth: z.object({ scheduled: whole, queued: whole, running: whole, suspended: whole }),
  oldestWaitingMs: maybe(z.number()),
  ...rates,
} satisfies Record<keyof Gauges, z.ZodType>

const databaseUse: z.ZodType<DatabaseUse> = z
  .object({
    bytes: whole,
    walBytes: whole,
    busyShare: z
      .number()
      .describe('The share of the time in which a process held the write lock, from 0 to 1'),
    writesPerSecond: z.number(),
    waitsPerSecond: z.number().describe('How often a process had to wait for the lock'),
    waitMs: maybe(z.number()),
  })
  .meta({ id: 'DatabaseUse' })

export const stats: z.ZodType<Metrics & { counts: Counts }> = z
  .object({
    counts,
    asOf: timeField,
    since: timeField,
    ...gauges,
    database: maybe(databaseUse),
    queues: z.array(z.object({ queue: z.string(), ...gauges })),
    tasks: z.array(z.object({ queue: z.string(), name: z.string(), ...gauges })),
    discoveries: z.array(z.object({ name: z.string(), ...rates })),
    minutes: z.array(
      z.object({ minute: timeField, enqueued: whole, completed: whole, failed: whole, retried: whole }),
    ),
  })
  .meta({ id: 'Stats' })

export const info: z.ZodType<Info> = z
  .object({
    version: z.string(),
    database: z.enum(['sqlite', 'postgres']),
    host: z.string(),
    pid: whole,
    startedAt: timeField,
    now: timeField,
    paused: z.boolean().describe('Everything is paused: no worker claims anything'),
    role: z.enum(ROLES),
    user: maybe(z.string()),
    signedIn: z.boolean(),
    tasks: z.array(z.object({ name: z.string(), queue: z.string() })),
  })
  .meta({ id: 'Info' })

export const errorBody: z.ZodType<ErrorBody> = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      hint: maybe(z.string()),
      issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    }),
  })
  .meta({ id: 'Error' }) as z.ZodType<ErrorBody>

const number = z.number()

export const row: z.ZodType<RowRecord> = z
  .object({
    key: z.string(),
    state: z.enum([...ROW_STATES, INELIGIBLE]),
    attempts: whole,
    crashes: whole,
    error: maybe(failure),
    worker: maybe(z.string()),
    since: maybe(timeField),
    nextAt: maybe(timeField),
    history: z.array(
      z.object({ attempt: whole, at: timeField, outcome: z.string(), message: maybe(z.string()) }),
    ),
  })
  .meta({ id: 'Row' })

export const discovery: z.ZodType<Discovery> = z
  .object({
    name: z.string(),
    table: z.string(),
    key: z.array(z.string()),
    where: z.string(),
    version: maybe(z.string()),
    orderBy: maybe(z.string()),
    maxAttempts: whole,
    crashLimit: whole,
    paused: z.boolean(),
    pausedReason: maybe(z.string()),
    createIndex: maybe(z.string()),
    waiting: maybe(whole),
    claimed: maybe(whole),
    suspended: maybe(whole),
    backingOff: maybe(whole),
    quarantined: maybe(whole),
    donePerMinute: maybe(number),
    averageMs: maybe(number),
    etaMs: maybe(number),
    asOf: maybe(timeField),
  })
  .meta({ id: 'Discovery' })

export const pageSchema = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    next: maybe(z.string()).describe('Pass it as `cursor` to get the next page; null: this is the last page'),
  })
export const listOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) })
