import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import { durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import type { RetryPolicy } from '../model/retry.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { shown } from './names.ts'
import { retryPolicy } from './retry.ts'
import { checkSchema } from './task.ts'
import type { StepOptions, WaitForOptions } from './types.ts'

const NAME_MAX = 200
const OPTIONS = declareOptions<StepOptions>('ctx.step', {
  retry: true,
  timeout: true,
  schema: true,
  atomic: true,
})
/** Without `retry` the attempt fails with the step, and the retry policy of the task applies. */
const ONCE = { attempts: 1 }

export interface CheckedStep {
  name: string
  work: (given: any) => unknown
  retry: RetryPolicy
  timeoutMs: number | null
  schema: Std | null
  atomic: boolean
}

export function checkStep(name: string, work: unknown, options: StepOptions = {}): CheckedStep {
  const what = `step ${checkStepName(name)}`
  if (typeof work !== 'function')
    throw bad(`${what}: ${shown(work)} is not a function`, `Pass the function: ctx.step('${name}', () => …).`)
  if (typeof options !== 'object' || options === null)
    throw bad(`${what}: options are ${shown(options)}`, 'Use an object.')
  refuseUnknown(options, OPTIONS, what)
  const { retry, timeout, schema, atomic = false } = options
  if (typeof atomic !== 'boolean') throw bad(`${what}: atomic is ${shown(atomic)}`, 'Use true or false.')
  if (atomic && timeout !== undefined)
    throw bad(
      `${what}: an atomic step has no timeout`,
      'Leave out `timeout`: its transaction ends when its function ends.',
    )
  return {
    name,
    work: work as CheckedStep['work'],
    retry: retryPolicy(retry ?? ONCE, `${what}: retry`),
    timeoutMs: timeout === undefined ? null : durationMs(timeout, `${what}: timeout`),
    schema: checkSchema(schema, `${what}: schema`) ?? null,
    atomic,
  }
}

export function checkSleep(name: string): void {
  checkStepName(name)
}

const WAIT_OPTIONS = declareOptions<WaitForOptions>('ctx.waitFor', { schema: true, timeout: true })

export interface CheckedWait {
  name: string
  timeoutMs: number | null
  schema: Std | null
}

export function checkWait(name: string, options: WaitForOptions = {}): CheckedWait {
  const what = `waitFor ${checkSignalName(name)}`
  if (typeof options !== 'object' || options === null)
    throw bad(`${what}: options are ${shown(options)}`, 'Use an object.')
  refuseUnknown(options, WAIT_OPTIONS, what)
  const { schema, timeout } = options
  return {
    name,
    timeoutMs: timeout === undefined ? null : durationMs(timeout, `${what}: timeout`),
    schema: checkSchema(schema, `${what}: schema`) ?? null,
  }
}

export function checkSignalName(name: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= NAME_MAX) return name
  throw bad(
    `a signal with the name ${shown(name)} is not possible`,
    `Use a text of 1 to ${NAME_MAX} characters.`,
  )
}

export function dateMs(date: Date, what: string): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw new InputError(`${what}: ${shown(date)} is not a date`, {
    code: 'BAD_DATE',
    hint: 'Use a valid Date.',
  })
}

function checkStepName(name: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= NAME_MAX) return name
  throw bad(
    `a step with the name ${shown(name)} is not possible`,
    `Use a text of 1 to ${NAME_MAX} characters.`,
  )
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
