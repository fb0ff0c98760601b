import { z } from 'zod'
import type { ComponentRecord, HealthRecord } from '../../model/health.ts'
import { COUNTERS, HEALTHS, PHASES, type WorkerRecord, type WorkerStatus } from '../../model/worker.ts'
import type { SupervisorRecord } from '../../supervisor/reading.ts'
import type { HealthReport } from '../wire/types.ts'
import { maybe, timeField, whole } from './records.ts'

/** What answers hold of workers and how they are. */

const number = z.number()

export const WORKER_STATUSES = [
  'starting',
  'running',
  'paused',
  'stopping',
  'stopped',
  'crashed',
  'backing-off',
  'failed',
] as const satisfies readonly WorkerStatus[]

export const exit = z.object({
  at: timeField,
  code: maybe(whole),
  signal: maybe(z.string()),
  reason: z.string(),
  phase: maybe(z.enum(PHASES)),
  rss: maybe(number),
})

const counters = z.object(
  Object.fromEntries(COUNTERS.map((name) => [name, whole])) as Record<
    (typeof COUNTERS)[number],
    typeof whole
  >,
)

const program = z.object({
  status: z.enum(HEALTHS),
  phase: maybe(z.enum(PHASES)),
  currentJob: maybe(z.string()),
  metrics: z.record(z.string(), number),
})

export const worker: z.ZodType<WorkerRecord> = z
  .object({
    id: z.string(),
    pool: z.string(),
    status: z.enum(WORKER_STATUSES),
    health: z.enum(HEALTHS),
    phase: maybe(z.enum(PHASES)),
    reason: maybe(z.string()).describe('Why the worker backs off'),
    pid: maybe(whole),
    host: z.string(),
    incarnation: maybe(whole),
    current: z.array(z.object({ item: z.string(), since: timeField, deadline: maybe(timeField) })),
    counters: maybe(counters).describe('What it did since it started'),
    program: maybe(program).describe('What the program of a `command` pool reports about itself'),
    restarts: z.object({ recent: whole, total: whole }),
    lastExit: maybe(exit),
    rss: maybe(number),
    loopLagMs: maybe(number),
    lastFrameAt: maybe(timeField),
  })
  .meta({ id: 'Worker' })

export const supervisor: z.ZodType<SupervisorRecord> = z
  .object({
    name: z.string(),
    host: z.string(),
    pid: whole,
    since: timeField,
    running: z.boolean().describe('False: it has stopped, is dead, or has not reported for too long'),
  })
  .meta({ id: 'Supervisor' })

export const healthRecord: z.ZodType<HealthRecord> = z
  .object({
    at: timeField,
    component: z.string(),
    status: z.enum(HEALTHS),
    changedFrom: maybe(z.enum(HEALTHS)),
    item: maybe(z.string()).describe('What the component worked on'),
  })
  .meta({ id: 'HealthRecord' })

export const componentRecord: z.ZodType<ComponentRecord> = z
  .object({
    id: z.string(),
    status: z.enum(HEALTHS),
    since: timeField,
    item: maybe(z.string()).describe('What it worked on when it was last reported'),
    reportedAt: timeField,
    lost: z.boolean().describe('True: its process no longer reports it'),
  })
  .meta({ id: 'Component' })

const healthOfOne = z.object({
  id: z.string(),
  status: z.enum(HEALTHS),
  kind: z.enum(['worker', 'component']).describe('A worker of Gleaner, or a component of yours'),
  since: maybe(timeField).describe('Since when it has this status. Null: a worker'),
  item: maybe(z.string()).describe('What it works on'),
  lost: z.boolean().describe('True: its process no longer reports it'),
})

export const health: z.ZodType<HealthReport> = z
  .object({
    status: z.enum(HEALTHS),
    components: z.array(healthOfOne),
    alerts: z.array(
      z.object({
        kind: z.enum(['unserved', 'error-rate', 'backlog', 'stalled']),
        queue: maybe(z.string()),
        discovery: maybe(z.string()),
        message: z.string(),
        fix: z.string(),
      }),
    ),
  })
  .meta({ id: 'Health' })
