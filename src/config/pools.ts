import { checkName } from '../define/names.ts'
import type { Capabilities } from '../model/capabilities.ts'
import { badField, Fields, isObject } from './fields.ts'
import type { Pool } from './types.ts'

const PROCESSES_MAX = 256
const CONCURRENCY_MAX = 10_000
const CONCURRENCY_DEFAULT = 10
const ARGUMENTS_MAX = 100
/** Less than a process of Node's has: it would be replaced for ever. */
const RSS_MIN = 64 * 2 ** 20
const OPTIONS = [
  'processes',
  'concurrency',
  'queues',
  'discoveries',
  'capabilities',
  'command',
  'maxRss',
  'maxItems',
]

export function checkPools(pools: unknown): Pool[] {
  if (pools !== undefined && !isObject(pools))
    throw badField('pools', pools, "Use an object, e.g. { mail: { processes: 2, queues: ['default'] } }.")
  return Object.entries(pools ?? {}).map(([name, options]) => checkPool(checkPoolName(name), options))
}

/** A worker is called worker:<pool>:<n>. */
function checkPoolName(name: string): string {
  if (!name.includes(':')) return checkName(name, 'pools', 'BAD_CONFIG')
  throw badField('pools', name, 'Use a name without a colon.')
}

function checkPool(name: string, options: unknown): Pool {
  const where = `pools.${name}`
  const fields = new Fields(options, where, OPTIONS, "{ processes: 2, queues: ['default'] }")
  const command = checkCommand(fields)
  return {
    name,
    processes: fields.whole('processes', 1, 1, PROCESSES_MAX),
    concurrency: fields.whole(
      'concurrency',
      command === undefined ? CONCURRENCY_DEFAULT : 1,
      1,
      CONCURRENCY_MAX,
    ),
    queues: checkQueues(fields, command !== undefined),
    discoveries: names(fields, 'discoveries') ?? [],
    capabilities: checkCapabilities(fields),
    command,
    maxRss: fields.wholeIfSaid('maxRss', RSS_MIN, Number.MAX_SAFE_INTEGER),
    maxItems: fields.wholeIfSaid('maxItems', 1, Number.MAX_SAFE_INTEGER),
  }
}

function checkQueues(fields: Fields, isForeign: boolean): readonly string[] | undefined {
  const queues = names(fields, 'queues')
  if (queues?.length === 0) {
    if ((names(fields, 'discoveries') ?? []).length > 0) return queues
    throw badField(fields.at('queues'), [], "Name at least one, e.g. ['default'].")
  }
  if (queues !== undefined || !isForeign || fields.get('discoveries') !== undefined)
    return queues ?? undefined
  throw badField(
    fields.at('queues'),
    undefined,
    "Name the queues whose tasks the command runs, e.g. ['py'].",
    'is missing beside a command',
  )
}

function names(fields: Fields, field: string): readonly string[] | undefined {
  const value = fields.get(field)
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw badField(fields.at(field), value, "Use a list of names, e.g. ['default'].")
  return [...new Set(value.map((name, i) => checkName(name, `${fields.at(field)}[${i}]`, 'BAD_CONFIG')))]
}

function checkCommand(fields: Fields): Pool['command'] {
  const value = fields.get('command')
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.length > 0 && value.length <= ARGUMENTS_MAX
  if (isList && value.every((word) => typeof word === 'string' && !word.includes('\0')) && value[0] !== '')
    return [...value] as [string, ...string[]]
  throw badField(
    fields.at('command'),
    value,
    "Use the program and its arguments, e.g. ['python3', 'worker.py'].",
  )
}

function checkCapabilities(fields: Fields): Capabilities {
  const value = fields.get('capabilities') ?? {}
  const isScalar = (one: unknown) => ['string', 'number', 'boolean'].includes(typeof one)
  const isOffer = (one: unknown) => isScalar(one) || (Array.isArray(one) && one.every(isScalar))
  if (isObject(value) && Object.values(value).every(isOffer)) return value as Capabilities
  throw badField(
    fields.at('capabilities'),
    value,
    "Use an object of strings, numbers, booleans or lists of them, e.g. { gpu: true, region: ['eu', 'us'] }.",
  )
}
