import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { type Ordering, type QueueSettings, STRATEGIES, type Strategy } from '../model/queue.ts'
import { declareOptions, namesHint, refuseUnknown } from '../options.ts'
import { checkLimit, type RateOptions } from './limit.ts'
import { checkName, shown } from './names.ts'

/** The order and the limits of a queue. They are stored in the database: a process that does not name the queue leaves them as they are. */
export interface QueueOptions {
  /** Which task runs next: `'priority'`, `'fifo'`, `'lifo'` or `'weighted'` (at random, with a chance proportional to 1 / priority). Default `'priority'`. */
  strategy?: Strategy
  /** With `'priority'`: a task that has waited this long moves up by one priority step. Default: waiting changes nothing. */
  ageing?: Duration
  /** How many tasks of the queue run at the same time, across all processes. Null removes a stored limit. Default: as stored, at first no limit. */
  concurrency?: number | null
  /** How many tasks of the queue start within a period, across all processes. Null removes a stored limit. Default: as stored, at first no limit. */
  rate?: RateOptions | null
}

const OPTIONS = declareOptions<QueueOptions>('queues', {
  strategy: true,
  ageing: true,
  concurrency: true,
  rate: true,
})

export function checkQueues(queues: unknown): QueueSettings[] {
  if (!isObject(queues)) throw bad('queues', queues, "Use an object, e.g. { ml: { strategy: 'fifo' } }.")
  return Object.entries(queues).map(([name, options]) =>
    checkQueue(checkName(name, 'queue', 'BAD_QUEUE'), options),
  )
}

function checkQueue(name: string, options: unknown): QueueSettings {
  const what = `queues.${name}`
  if (!isObject(options)) throw bad(what, options, "Use an object, e.g. { strategy: 'fifo' }.")
  refuseUnknown(options, OPTIONS, what)
  const ordering = checkOrdering(options as QueueOptions, what)
  // Who names one of the two says what the limit is; who names none leaves it as it is.
  const isLimitNamed = options.concurrency !== undefined || options.rate !== undefined
  return {
    name,
    ...(ordering === undefined ? {} : { ordering }),
    ...(isLimitNamed ? { limit: checkLimit(options, what) } : {}),
  }
}

/** Undefined when nothing is said of it. */
function checkOrdering({ strategy, ageing }: QueueOptions, what: string): Ordering | undefined {
  if (strategy === undefined && ageing === undefined) return undefined
  const known = checkStrategy(strategy ?? 'priority', `${what}.strategy`)
  return { strategy: known, ageingMs: ageing === undefined ? null : checkAgeing(ageing, known, what) }
}

export function checkStrategy(
  strategy: unknown,
  what: string,
  code: 'BAD_OPTION' | 'BAD_CONFIG' | 'BAD_DEFINITION' = 'BAD_OPTION',
): Strategy {
  const known = STRATEGIES.find((one) => one === strategy)
  if (known !== undefined) return known
  const hint = `Use one of: ${STRATEGIES.map((s) => `'${s}'`).join(', ')}.`
  throw new InputError(`${what}: ${shown(strategy)} is not valid`, { code, hint })
}

/** Another order for some queues than the stored one. `served`: the queues that the worker serves. */
export function checkStrategies(
  strategies: unknown,
  served: readonly string[],
  what = 'strategies',
  code: 'BAD_OPTION' | 'BAD_CONFIG' = 'BAD_OPTION',
): ReadonlyMap<string, Strategy> {
  if (strategies === undefined) return new Map()
  if (!isObject(strategies))
    throw new InputError(`${what}: ${shown(strategies)} is not valid`, {
      code,
      hint: "Use an object, e.g. { media: 'lifo' }.",
    })
  return new Map(
    Object.entries(strategies).map(([queue, strategy]) => {
      if (served.includes(queue)) return [queue, checkStrategy(strategy, `${what}.${queue}`, code)]
      throw new InputError(`${what}: the worker does not serve queue ${shown(queue)}`, {
        code,
        hint: `${namesHint(queue, served)} Add the queue to \`queues\`, or remove it here.`,
      })
    }),
  )
}

function checkAgeing(ageing: Duration, strategy: Strategy, what: string): number {
  if (strategy !== 'priority')
    throw bad(
      `${what}.ageing`,
      ageing,
      `Only the strategy 'priority' has ageing. Remove it, or change the strategy '${strategy}'.`,
    )
  const ms = durationMs(ageing, `${what}.ageing`)
  if (ms < 1)
    throw bad(
      `${what}.ageing`,
      ageing,
      "Use at least 1 ms. To run tasks in the order of arrival, use the strategy 'fifo'.",
    )
  return ms
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_OPTION', hint })
}
