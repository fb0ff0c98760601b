import { z } from 'zod'
import type { Duration } from '../../duration.ts'
import { COMPONENT_ID } from '../../health/status.ts'
import { AFTER_MAX } from '../../model/flow.ts'
import { RANGES, type Range } from '../../model/metrics-history.ts'
import { FINISHED_STATUSES, type FinishedStatus, LOG_LEVELS, TASK_STATUSES } from '../../model/task.ts'

/** The fields that requests are made of: each with its bounds. */

const PAGE_MAX = 200
const KEY_MAX = 500
const SIGNAL_NAME_MAX = 200
const TEXT_MAX = 1_000
const TIME_MAX_MS = 8_640_000_000_000_000
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/

/** Texts that every database and every log can hold. */
const plain = (max: number, min = 1) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'contains invalid characters')

export const name = z
  .string()
  .regex(NAME)
  .describe('1 to 100 letters, digits, dots, colons, dashes or underscores')
export const id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .describe('An id, as an earlier response returned it')
export const rowKey = plain(KEY_MAX).describe('The key as text; for several columns a JSON array')
/** In a body, where it may be any text. */
export const bodyKey = plain(KEY_MAX, 0).describe('The key as text; for several columns a JSON array')
/** A client or a proxy takes these out of an address, and then it names something else. */
export const changedKey = rowKey.refine(
  (key) => key !== '.' && key !== '..',
  'a row with this key must be named in the body: POST …/rows/retry or …/rows/release with { key }',
)
export const component = z
  .string()
  .regex(COMPONENT_ID)
  .describe('A worker, e.g. `worker:ml:0`, or a component of yours')

/** In a query everything is text. */
const fromQuery = <T extends z.ZodType>(read: (text: string) => unknown, to: T) =>
  z.preprocess((value) => (typeof value === 'string' ? read(value) : value), to)

const wholeIn = (text: string) => (/^\d{1,16}$/.test(text) ? Number(text) : text)
const flagIn = (text: string) => ({ true: true, false: false })[text] ?? text
const listIn = (text: string) => text.split(',')

export const flag = fromQuery(flagIn, z.boolean())

const time = z.int().min(0).max(TIME_MAX_MS).describe('Milliseconds since 1970')
/** In a query. */
export const timeQuery = fromQuery(wholeIn, time)
/** The pattern is stricter than what TypeScript knows of a text. */
export const durationField = z.union([
  z.number().min(0),
  z
    .string()
    .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/)
    .max(30),
]) as z.ZodType as z.ZodType<Duration, Duration>
const durationIn = (text: string) => (/^\d+$/.test(text) ? Number(text) : text)
const dateOrTime = z
  .union([z.int().min(0).max(TIME_MAX_MS), z.string().min(1).max(40)])
  .describe('Milliseconds since 1970, or an ISO 8601 date with its time zone: 2026-11-15T20:00:00Z')
const longerThan = durationField.describe(
  "Only tasks whose current attempt has run for longer than this, e.g. '10m'. It implies the status `running`",
)
const conditions = {
  status: z.enum(TASK_STATUSES).optional(),
  queue: name.optional(),
  name: name.optional(),
  key: plain(KEY_MAX).optional(),
  error: plain(TEXT_MAX).optional().describe('Text in the message of the last error'),
  parent: plain(KEY_MAX).optional().describe('Only tasks that this task, or this row, waits or waited for'),
}
const scalar = z.union([z.string().max(TEXT_MAX), z.number(), z.boolean()])
const required = z.record(name, scalar)
/** region=eu,gpu=true */
const requiredIn = (text: string) =>
  Object.fromEntries(
    text.split(',').map((one) => {
      const [name = '', ...value] = one.split('=')
      return [name, value.length === 0 ? null : value.join('=')]
    }),
  )
const times = ['createdAfter', 'createdBefore', 'startedBefore', 'finishedAfter', 'finishedBefore'] as const
const allTimes = <T extends z.ZodType>(schema: T) =>
  Object.fromEntries(times.map((one) => [one, schema])) as Record<(typeof times)[number], T>

/** Which tasks, in a body. */
export const taskFilter = z.strictObject({
  ...conditions,
  requires: required.optional().describe('Only tasks that require all of this'),
  ...allTimes(dateOrTime.optional()),
  runningLongerThan: longerThan.optional(),
})

export const page = {
  limit: fromQuery(wholeIn, z.int().min(1).max(PAGE_MAX).default(50)),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,2000}$/)
    .optional()
    .describe('The `next` of the previous page'),
}
export const pageQuery = z.strictObject(page)
export const logQuery = z.strictObject({
  ...page,
  follow: flag.default(false).describe('There is always a `next`: pass it later to get newer lines'),
})
/** Which tasks, in a query. */
export const taskQuery = z.strictObject({
  ...conditions,
  requires: fromQuery(requiredIn, required.optional()).describe(
    'Only tasks that require all of this: `region=eu,gpu=true`, encoded for an address',
  ),
  ...allTimes(fromQuery(wholeIn, dateOrTime.optional())),
  runningLongerThan: fromQuery(durationIn, longerThan.optional()),
  ...page,
})

export const windowQuery = z.strictObject({
  window: fromQuery(durationIn, durationField.optional()).describe("The window of rates: '1m' to '1d'"),
})

const keep = z
  .union([durationField, z.literal(false)])
  .optional()
  .describe('How long after the end they are removed; false or missing: never')
/** How long finished tasks are kept. Empty: as the server was told. */
export const retention = z.strictObject(
  Object.fromEntries(FINISHED_STATUSES.map((status) => [status, keep])) as Record<
    FinishedStatus,
    typeof keep
  >,
)

export const rangeQuery = z.strictObject({
  range: z.enum(Object.keys(RANGES) as [Range, ...Range[]]).default('hour'),
})

export const topics = fromQuery(listIn, z.array(z.string()))
export const ids = (max: number) => fromQuery(listIn, z.array(id).min(1).max(max))

const enqueueFields = {
  priority: z.int().min(1).max(1_000).optional(),
  runAfter: z
    .union([durationField, z.iso.datetime({ offset: true })])
    .optional()
    .describe("A delay ('5m', or milliseconds) or a time (ISO 8601)"),
  keyScope: z.enum(['active', 'forever']).optional(),
  whenHeld: z.enum(['keep', 'replace']).optional(),
  debounce: durationField.optional(),
  maxWait: durationField.optional(),
  throttle: durationField.optional(),
  requires: required.optional(),
  queue: name.optional(),
  retry: z
    .strictObject({
      attempts: z.int().optional(),
      backoff: z.enum(['fixed', 'linear', 'exponential']).optional(),
      base: durationField.optional(),
      max: durationField.optional(),
      jitter: z.number().optional(),
    })
    .optional(),
  timeout: durationField.optional(),
  after: z.array(id).max(AFTER_MAX).optional().describe('Ids of tasks: it runs when they have ended'),
  onFailure: z.enum(['fail', 'run', 'cancel']).optional().describe('If one of them does not complete'),
}

export const enqueueOptions = z.strictObject({ ...enqueueFields, key: plain(KEY_MAX).optional() })
export const enqueueManyOptions = z.strictObject({ ...enqueueFields, atomic: z.boolean().optional() })
export const taskKeys = (max: number) => z.array(plain(KEY_MAX)).max(max)

/** What is claimed: the id of a task, or `<discovery>/<key>` of a row. */
export const claimId = plain(KEY_MAX + 101).describe(
  'The id of a task, or `<discovery>/<key>` of a row, percent-encoded',
)
export const fence = z.int().min(0).describe('The fence of the claim')
export const capabilities = z.record(name, z.union([scalar, z.array(scalar).max(100)]))
export const message = plain(TEXT_MAX * 4, 0)
export const level = z.enum(LOG_LEVELS)

/** A signal to a task. */
export const signalBody = z.strictObject({
  name: plain(SIGNAL_NAME_MAX).describe('The name of the signal, as in ctx.waitFor'),
  payload: z.unknown().optional().describe('Any JSON value'),
})
