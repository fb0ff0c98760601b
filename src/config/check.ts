import { dirname, resolve } from 'node:path'
import { discoveryOf } from '../define/discovery.ts'
import { checkName } from '../define/names.ts'
import { durationMs } from '../duration.ts'
import type { GleanerOptions } from '../engine/gleaner.ts'
import { checkOptions, GLEANER_OPTIONS } from '../engine/open.ts'
import type { Role } from '../model/action.ts'
import { RESTART_DEFAULT } from '../model/restart.ts'
import { declareDurations, declareOptions, knownOptions } from '../options.ts'
import { sqlitePath } from '../store/by-url/open.ts'
import type { SqliteSettings } from '../store/sqlite/drivers/driver.ts'
import { checkLibrary } from '../store/sqlite/drivers/load.ts'
import { type Environment, readEnvironment } from './environment.ts'
import { badField, Fields, isObject } from './fields.ts'
import { checkPools } from './pools.ts'
import { type AccessToken, checkSecret, checkTokenList } from './tokens.ts'
import type {
  AlertOptions,
  Authorize,
  Config,
  ConfigOptions,
  ServerOptions,
  SupervisionLimits,
  SupervisionTimings,
  SupervisorOptions,
  SupervisorSettings,
} from './types.ts'

const PORT_DEFAULT = 8356
const ALERTS_EVERY_MS = 15_000
const CONFIG = declareOptions<Omit<ConfigOptions, keyof GleanerOptions>>('the config', {
  pools: true,
  server: true,
  supervisor: true,
  alerts: true,
})

/** Everything that can be known to be wrong before anything is opened or started. */
export function checkConfig(options: unknown, path: string, env: NodeJS.ProcessEnv): Config {
  if (!isObject(options))
    throw badField(
      'the config',
      options,
      "Export an object: export default defineConfig({ database: 'sqlite:./app.db' }).",
    )
  refuseUnknownFields(options)
  const given = readEnvironment(env)
  const config: Config = {
    path,
    engine: checkEngine(options as unknown as ConfigOptions, path, given),
    pools: checkPools(options.pools),
    server: checkServer(options.server, given),
    supervisor: checkSupervisor(options.supervisor),
    alerts: checkAlerts(options.alerts),
  }
  checkDiscoveries(config)
  return config
}

/** What other programs of this kind call it. */
const MEANT: Record<string, string> = {
  http: 'server',
  api: 'server',
  dashboard: 'server',
  host: 'server',
  port: 'server',
  token: 'server',
  workers: 'pools',
  processes: 'pools',
  connection: 'database',
  url: 'database',
}

function refuseUnknownFields(options: Record<string, unknown>): void {
  const known = [...GLEANER_OPTIONS.names, ...CONFIG.names]
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw badField(unknown, undefined, knownOptions(unknown, known, MEANT), 'is not an option')
}

function checkEngine(options: ConfigOptions, path: string, given: Environment): GleanerOptions {
  const engine = Object.fromEntries(
    Object.entries(options).filter(([name]) => !CONFIG.names.includes(name)),
  ) as unknown as GleanerOptions
  engine.sqlite = sqliteOf(engine, path)
  checkOptions(engine, 'the config')
  const database = given.database ?? databaseOf(engine, path)
  sqlitePath(database)
  return { ...engine, database }
}

/** A file is meant as seen from the config, wherever the program is started. */
function databaseOf({ database }: { database?: unknown }, path: string): string {
  if (typeof database !== 'string')
    throw badField(
      'database',
      database,
      "Set it to 'sqlite:./app.db' or 'postgres://…', or set GLEANER_DATABASE.",
    )
  const file = sqlitePath(database)
  return file === undefined || file === ':memory:' ? database : `sqlite:${resolve(dirname(path), file)}`
}

/** So is a module; a thread or another process finds it by its whole path. */
function sqliteOf({ sqlite }: GleanerOptions, path: string): SqliteSettings | undefined {
  if (!isObject(sqlite) || sqlite.driver === undefined) return sqlite
  return { ...sqlite, driver: checkLibrary(sqlite.driver, 'sqlite.driver', dirname(path)) }
}

/** A pool that serves what does not exist, or has no code for it, would wait for ever. */
function checkDiscoveries({ engine, pools }: Config): void {
  const known = new Map((engine.discoveries ?? []).map((one) => [one.name, discoveryOf(one)]))
  for (const { name: pool, discoveries, program } of pools) {
    for (const name of discoveries) {
      const where = `pools.${pool}.discoveries`
      if (!known.has(name))
        throw badField(
          where,
          name,
          `Add it to discoveries; known: ${[...known.keys()].join(', ') || 'none'}.`,
        )
      if (program === undefined && known.get(name)?.run === undefined)
        throw badField(where, name, 'It has no `run`. Add one, or give the pool a `command`.')
    }
  }
}

const SERVER = declareOptions<ServerOptions>('server', {
  host: true,
  port: true,
  tokens: true,
  authorize: true,
  local: true,
  token: true,
  viewerToken: true,
  hosts: true,
  redact: true,
})

function checkServer(server: unknown, given: Environment): Config['server'] {
  if (server === false) return null
  const fields = new Fields(server, 'server', SERVER, "{ host: '127.0.0.1', port: 8356 }")
  return {
    host: given.host ?? fields.text('host', '127.0.0.1'),
    port: given.port ?? fields.whole('port', PORT_DEFAULT, 0, 65_535),
    tokens: [
      ...checkTokenList(fields.get('tokens') ?? [], 'server.tokens'),
      ...tokenOf('operator', { 'server.token': fields.get('token'), GLEANER_TOKEN: given.token }),
      ...tokenOf('viewer', {
        'server.viewerToken': fields.get('viewerToken'),
        GLEANER_VIEWER_TOKEN: given.viewerToken,
      }),
    ],
    authorize: authorizeIn(fields),
    local: fields.flag('local', false),
    hosts: fields.texts('hosts'),
    redact: fields.texts('redact'),
  }
}

/** `places`: where it may be said. The last one that says it decides. */
function tokenOf(role: Role, places: Record<string, unknown>): AccessToken[] {
  const said = Object.entries(places).findLast(([, token]) => token !== undefined && token !== null)
  return said === undefined ? [] : [{ name: role, role, token: checkSecret(said[1], said[0]) }]
}

function authorizeIn(fields: Fields): Authorize | undefined {
  const authorize = fields.get('authorize')
  if (authorize === undefined || typeof authorize === 'function') return authorize as Authorize | undefined
  throw badField('server.authorize', authorize, 'Use a function: (request) => role, or null.')
}

/** Whatever a config names is compared with what the others are by default. */
export const SUPERVISION_TIMINGS = declareDurations<SupervisionTimings>('supervisor.timings', {
  frame: '5s',
  stale: '10s',
  hung: '30s',
  startup: '5m',
  drain: '10s',
  term: '5s',
  grace: '5s',
  backoff: RESTART_DEFAULT.baseMs,
  backoffMax: RESTART_DEFAULT.maxMs,
  window: RESTART_DEFAULT.windowMs,
  registry: '5s',
  commands: '1s',
})
const SUPERVISOR = declareOptions<SupervisorOptions>('supervisor', {
  name: true,
  timings: true,
  limits: true,
})
const LIMITS = declareOptions<SupervisionLimits>('supervisor.limits', { inWindow: true, total: true })
const ALERTS = declareOptions<AlertOptions>('alerts', {
  every: true,
  backlog: true,
  errorRate: true,
  stalledAfter: true,
})

function checkSupervisor(supervisor: unknown): SupervisorSettings {
  const fields = new Fields(supervisor, 'supervisor', SUPERVISOR, "{ timings: { drain: '30s' } }")
  const name = fields.get('name')
  return {
    name: name === undefined ? undefined : checkName(name, 'supervisor.name', 'BAD_CONFIG'),
    timings: checkTimings(fields.get('timings')),
    limits: checkLimits(fields.get('limits')),
  }
}

function checkLimits(limits: unknown): SupervisorSettings['limits'] {
  const fields = new Fields(limits, 'supervisor.limits', LIMITS, '{ inWindow: 5, total: 20 }')
  const said = LIMITS.names.filter((name) => fields.get(name) !== undefined)
  return Object.fromEntries(said.map((name) => [name, fields.whole(name, 1, 1, 1_000_000)]))
}

function checkTimings(timings: unknown): SupervisorSettings['timings'] {
  const fields = new Fields(timings, 'supervisor.timings', SUPERVISION_TIMINGS, "{ drain: '30s' }")
  const said = SUPERVISION_TIMINGS.names.filter((name) => fields.get(name) !== undefined)
  const checked: Record<string, number> = Object.fromEntries(
    said.map((name) => [name, fields.intervalMs(name)]),
  )
  const {
    frameMs: frame,
    staleMs: stale,
    hungMs: hung,
  } = SUPERVISION_TIMINGS.read(checked, 'supervisor.timings')
  if (frame < stale && stale <= hung) return checked
  throw badField(
    'supervisor.timings',
    undefined,
    'A healthy worker must not look hung. Choose frame < stale ≤ hung.',
    `has frames every ${frame} ms, stale after ${stale} ms, hung after ${hung} ms`,
  )
}

function checkAlerts(alerts: unknown): Config['alerts'] {
  const fields = new Fields(alerts, 'alerts', ALERTS, '{ backlog: 100_000 }')
  const unlessOff = <T>(name: string, read: () => T): T | null => (fields.get(name) === false ? null : read())
  return {
    everyMs: fields.get('every') === undefined ? ALERTS_EVERY_MS : fields.intervalMs('every'),
    backlog: unlessOff('backlog', () => fields.whole('backlog', 10_000, 1, Number.MAX_SAFE_INTEGER)),
    errorRate: unlessOff('errorRate', () => checkShare(fields.get('errorRate') ?? 0.1)),
    stalledAfterMs: unlessOff('stalledAfter', () =>
      durationMs(fields.get('stalledAfter') ?? '1m', 'alerts.stalledAfter'),
    ),
  }
}

function checkShare(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw badField('alerts.errorRate', value, 'Use a share from 0 to 1, e.g. 0.1 for 10 %, or false.')
}
