import { checkName } from '../define/names.ts'
import { checkStrategies } from '../define/queue.ts'
import { InputError } from '../errors.ts'
import type { Capabilities } from '../model/capabilities.ts'
import { declareOptions } from '../options.ts'
import { badField, Fields, isObject } from './fields.ts'
import type { Config, Pool, PoolOptions, PoolProgram } from './types.ts'

const PROCESSES_MAX = 256
const CONCURRENCY_MAX = 10_000
const CONCURRENCY_DEFAULT = 10
const ARGUMENTS_MAX = 100
const ID_MAX = 2 ** 32 - 2
/** Less than a process of Node's has: it would be replaced for ever. */
const RSS_MIN = 64 * 2 ** 20
const OPTIONS = declareOptions<PoolOptions>('pools', {
  processes: true,
  concurrency: true,
  queues: true,
  discoveries: true,
  capabilities: true,
  strategies: true,
  resourceErrorLimit: true,
  command: true,
  env: true,
  uid: true,
  gid: true,
  batches: true,
  maxRss: true,
  maxItems: true,
})

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
  const program = checkProgram(fields)
  const queues = checkQueues(fields, program !== undefined)
  return {
    name,
    processes: fields.whole('processes', 1, 1, PROCESSES_MAX),
    concurrency: fields.whole(
      'concurrency',
      program === undefined ? CONCURRENCY_DEFAULT : 1,
      1,
      CONCURRENCY_MAX,
    ),
    queues,
    discoveries: names(fields, 'discoveries') ?? [],
    capabilities: checkCapabilities(fields),
    strategies: checkPoolStrategies(fields, queues),
    resourceErrorLimit: fields.wholeIfSaid('resourceErrorLimit', 1, Number.MAX_SAFE_INTEGER),
    program,
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

/** A pool that names no queues serves those of the config's tasks: only its processes know them, and check again. */
function checkPoolStrategies(fields: Fields, queues: readonly string[] | undefined): Pool['strategies'] {
  const value = fields.get('strategies')
  if (value === undefined) return {}
  const served = queues ?? (isObject(value) ? Object.keys(value) : [])
  return Object.fromEntries(checkStrategies(value, served, fields.at('strategies'), 'BAD_CONFIG'))
}

function names(fields: Fields, field: string): readonly string[] | undefined {
  const value = fields.get(field)
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw badField(fields.at(field), value, "Use a list of names, e.g. ['default'].")
  return [...new Set(value.map((name, i) => checkName(name, `${fields.at(field)}[${i}]`, 'BAD_CONFIG')))]
}

function checkProgram(fields: Fields): Pool['program'] {
  const command = checkCommand(fields)
  if (command !== undefined)
    return {
      command,
      env: checkEnv(fields),
      uid: fields.wholeIfSaid('uid', 0, ID_MAX),
      gid: fields.wholeIfSaid('gid', 0, ID_MAX),
      batches: fields.flag('batches', false),
    }
  const alone = ['env', 'uid', 'gid', 'batches'].find((name) => fields.get(name) !== undefined)
  if (alone === undefined) return undefined
  throw badField(
    fields.at(alone),
    undefined,
    'Remove it, or name a command.',
    'is only for a pool with a command',
  )
}

function checkCommand(fields: Fields): PoolProgram['command'] | undefined {
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

function checkEnv(fields: Fields): PoolProgram['env'] {
  const value = fields.get('env') ?? []
  const isList = Array.isArray(value)
  const names = isList ? value : isObject(value) ? Object.keys(value) : null
  const texts = isList ? [] : Object.values(value as object)
  if (
    names?.every((name) => typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) &&
    texts.every((text) => typeof text === 'string' && !text.includes('\0'))
  )
    return value as PoolProgram['env']
  throw badField(
    fields.at('env'),
    value,
    "Use names to pass on, e.g. ['VIRTUAL_ENV'], or values, e.g. { VIRTUAL_ENV: '/srv/venv' }.",
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

/** A supervisor without workers is a mistake in the config. */
export function mustHavePools({ pools, path }: Config): void {
  if (pools.length > 0) return
  throw new InputError(`${path} has no pools`, {
    code: 'BAD_CONFIG',
    hint: "Add one, e.g. pools: { main: { processes: 2, queues: ['default'] } }. To run one worker without a pool, use `gleaner work`.",
  })
}
