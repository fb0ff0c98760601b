import { checkName, shown } from '../define/names.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { checkTypes, declareOptions, knownOptions, refuseUnknown } from '../options.ts'
import type { ManualClaimRequest } from '../worker/claims/manual-claim-request.ts'
import type { ClaimOptions } from './gleaner.ts'
import { bad } from './settings.ts'
import type { KnownDefinitions } from './work-options.ts'

const OPTIONS = declareOptions<ClaimOptions>('claim', {
  queues: true,
  names: true,
  discoveries: true,
  capabilities: true,
  limit: true,
  wait: true,
  worker: true,
  lease: true,
})
const LIMIT_MAX = 1_000
export const LEASE_MAX_MS = 10 * 60_000

/** Who asks, where the options do not say it, and how long a lease may be at least. */
interface Asking {
  worker: string
  leaseMs: number
  leaseMinMs: number
  remote: ManualClaimRequest['remote']
}

/** What a caller asks for, checked. Naming queues or discoveries means only those; naming neither means all. */
export function checkClaim(
  options: ClaimOptions,
  known: KnownDefinitions,
  asking: Asking,
): ManualClaimRequest {
  if (typeof options !== 'object' || options === null) throw bad('claim', options, "Use { queues: ['ml'] }.")
  refuseUnknown(options, OPTIONS, 'claim')
  checkTypes(options, { capabilities: 'object' }, '')
  const { limit = 1, capabilities = {}, wait = 0, worker = asking.worker } = options
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    throw bad('limit', limit, `Use a whole number from 1 to ${LIMIT_MAX}.`)
  const isNamed = options.queues !== undefined || options.discoveries !== undefined
  const queues = listOf(options.queues, isNamed ? [] : known.registry.queues(), 'queues')
  const discoveries = listOf(options.discoveries, isNamed ? [] : known.discoveries.names, 'discoveries')
  const tasks = queues.length === 0 ? new Map() : tasksOf(options, known)
  if (tasks.size + discoveries.length === 0)
    throw bad('claim', 'no task and no discovery', "Name some, e.g. { queues: ['ml'] }.")
  return {
    worker: checkName(worker, 'worker', 'BAD_OPTION'),
    queues: queues.map((queue) => checkName(queue, 'queue', 'BAD_QUEUE')),
    tasks,
    discoveries: known.discoveries.pickWithoutRun(discoveries),
    capabilities,
    limit,
    waitMs: durationMs(wait, 'wait'),
    leaseMs: checkLease(options.lease, asking),
    remote: asking.remote,
  }
}

function tasksOf({ names }: ClaimOptions, { registry }: KnownDefinitions): ManualClaimRequest['tasks'] {
  const all = registry.all()
  const asked = listOf(
    names,
    all.map(({ name }) => name),
    'names',
  )
  return new Map(
    asked.map((name) => {
      const definition = registry.get(name)
      if (definition !== undefined) return [name, definition]
      const hint = knownOptions(
        String(name),
        all.map((one) => one.name),
      )
      throw new InputError(`names: there is no task ${shown(name)}`, { code: 'UNKNOWN_TASK', hint })
    }),
  )
}

function checkLease(lease: Duration | undefined, { leaseMs, leaseMinMs }: Asking): number {
  const ms = durationMs(lease ?? leaseMs, 'lease')
  if (ms >= leaseMinMs && ms <= Math.max(LEASE_MAX_MS, leaseMs)) return ms
  throw bad('lease', lease, `Use a duration from ${leaseMinMs} ms to ${LEASE_MAX_MS / 60_000} minutes.`)
}

function listOf(value: unknown, otherwise: readonly string[], what: string): readonly string[] {
  if (value === undefined) return otherwise
  if (Array.isArray(value)) return value
  throw bad(what, value, 'Use a list of names.')
}
