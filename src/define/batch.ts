import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { shown } from './names.ts'
import type { Resources } from './resource.ts'
import type { Context } from './types.ts'

const OPTIONS = declareOptions<BatchOptions>('batch', { size: true, wait: true, by: true })

const SIZE_DEFAULT = 100
const SIZE_MAX = 1_000
const WAIT_DEFAULT = '50ms'
const WAIT_MAX_MS = 60_000

/** How items are collected for one call of `run`. */
export interface BatchOptions<I = any> {
  /** The most items of one call. Default 100, at most 1000. */
  size?: number
  /** How long the first item waits for others. Default 50 ms, at most 1 min. */
  wait?: Duration
  /** Only items with the same value are in one call, for example of one tenant. */
  by?: (input: I) => string | number | boolean | null | undefined
}

/** One item of a call, at the place of its input. */
export interface BatchItem
  extends Pick<
    Context,
    'id' | 'attempt' | 'fence' | 'suspect' | 'signal' | 'log' | 'progress' | 'complete'
  > {}

/** The second argument of a batch handler. */
// biome-ignore lint/complexity/noBannedTypes: no resources, which is what most handlers use
export interface BatchContext<U extends Resources = {}>
  extends Pick<Context<U>, 'name' | 'signal' | 'use' | 'log' | 'progress' | 'enqueue'> {
  /** The items of this call, in the order of the inputs. */
  readonly items: readonly BatchItem[]
  /** This item fails with this error, and the others do not. What `run` returns for it is ignored. */
  fail(index: number, error: unknown): void
}

/** What `run` of a batch returns: one result for each input, in their order, or nothing. */
export type BatchResults<R> = readonly R[] | undefined | void

/** What the engine sees of it. */
export interface BatchDefinition {
  readonly size: number
  readonly waitMs: number
  readonly by: ((input: any) => unknown) | null
}

export function checkBatch(options: BatchOptions | undefined, what: string): BatchDefinition | null {
  if (options === undefined) return null
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw bad(what, options, "Use an object, e.g. { size: 100, wait: '50ms' }.")
  refuseUnknown(options, OPTIONS, what, 'BAD_DEFINITION')
  const { size = SIZE_DEFAULT, wait = WAIT_DEFAULT, by } = options
  if (!Number.isInteger(size) || size < 1 || size > SIZE_MAX)
    throw bad(`${what}: size`, size, `Use a whole number from 1 to ${SIZE_MAX}.`)
  const waitMs = durationMs(wait, `${what}: wait`)
  if (waitMs > WAIT_MAX_MS) throw bad(`${what}: wait`, wait, 'Use at most 1 minute.')
  if (by !== undefined && typeof by !== 'function')
    throw bad(`${what}: by`, by, 'Give a function of the input, e.g. (input) => input.tenant.')
  return Object.freeze({ size, waitMs, by: by ?? null })
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_DEFINITION', hint })
}
