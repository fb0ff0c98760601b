import { openStoreOf } from '../../config/open-store.ts'
import type { Config } from '../../config/types.ts'
import { definitionOf } from '../../define/task.ts'
import { DiscoveryRegistry } from '../../discovery/registry.ts'
import { checkPostgres } from '../../engine/settings.ts'
import { lockUse, outgrown } from '../../model/database-use.ts'
import { firstMinute } from '../../model/metrics.ts'
import { diagnose } from '../../store/by-url/diagnosis.ts'
import type { Store } from '../../store/ports/store.ts'
import { checkSqlite } from '../../store/sqlite/drivers/load.ts'
import { readRegistry } from '../../supervisor/reading.ts'
import { CONFIG_OPTIONS, type Command, JSON_OPTION, type Values } from '../console/command.ts'
import { withoutPassword } from '../console/database-name.ts'
import { findProgram } from '../console/find-program.ts'
import { printJson } from '../console/printing.ts'
import type { Terminal } from '../console/terminal.ts'
import { plural } from '../console/words.ts'
import { configOf } from '../operations/open.ts'

/** One thing that was looked at. */
interface Check {
  what: string
  state: 'ok' | 'note' | 'bad'
  detail: string
  fix: string | null
}

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check Node.js, the config and the database, and say what to fix.',
  operands: [],
  about:
    'Checks the version of Node.js, the config, and the programs that its pools name. Checks whether the ' +
    'database can be reached and written, its version and its journal mode. For each discovery it prints the ' +
    'index that the table lacks, and how to add a version column.\n\nEach line begins with ok, note or bad. A ' +
    'note is worth knowing. A line with bad is a problem that you must fix. The next line says what to do. ' +
    'The command changes nothing: it does not create or update the database.',
  options: { ...CONFIG_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner doctor', 'Run it before the first start, and when something does not work.'],
    ['gleaner doctor && gleaner start', 'Start only if there is no problem.'],
  ],
  async run(_operands, values, terminal) {
    const checks: Check[] = []
    // One by one, as they come: a database that does not answer takes its time.
    for await (const check of examined(values, terminal)) {
      checks.push(check)
      if (values.json !== true) print(check, terminal)
    }
    if (values.json === true) printJson(checks, terminal)
    return checks.some(({ state }) => state === 'bad') ? 1 : 0
  },
}

async function* examined(values: Values, terminal: Terminal): AsyncGenerator<Check> {
  yield ok('Node.js', process.versions.node)
  let config: Config
  try {
    config = await configOf(values, terminal)
  } catch (error) {
    yield failed('config', error)
    return
  }
  yield ok(
    'config',
    `${config.path}: ${plural(config.engine.tasks?.length ?? 0, 'task')}, ${plural(config.pools.length, 'pool')}`,
  )
  yield* pools(config, terminal)
  yield* database(config)
}

function* pools({ pools, engine, path }: Config, { env }: Terminal): Generator<Check> {
  if (pools.length === 0)
    yield note(
      'pools',
      'the config has none',
      '`gleaner start` needs a pool. `gleaner work` and `gleaner dev` work without one.',
    )
  for (const { name, program } of pools) {
    if (program === undefined) continue
    const [file] = program.command
    const found = findProgram(file, path, env)
    yield found === undefined
      ? bad(`pool ${name}`, `${file} was not found`, 'Install it, or write its full path.')
      : ok(`pool ${name}`, found)
  }
  // Without a list a pool serves the queues of all tasks.
  const served = new Set(pools.flatMap(({ queues }) => queues ?? []))
  if (pools.length === 0 || pools.some(({ queues }) => queues === undefined)) return
  for (const task of engine.tasks ?? []) {
    const { queue } = definitionOf(task)
    if (!served.has(queue))
      yield note(
        `task ${task.name}`,
        `no pool serves its queue ${queue}`,
        `Add ${queue} to the queues of a pool.`,
      )
  }
}

async function* database(config: Config): AsyncGenerator<Check> {
  const { engine } = config
  const options = { postgres: checkPostgres(engine.postgres ?? {}), sqlite: checkSqlite(engine.sqlite ?? {}) }
  let diagnosis: Awaited<ReturnType<typeof diagnose>>
  try {
    diagnosis = await diagnose(engine.database, options)
  } catch (error) {
    yield failed('database', error)
    return
  }
  const { server, version, latest, troubles, notes } = diagnosis
  const where = withoutPassword(engine.database)
  if (version === latest) yield ok('database', `${where} (${server}, version ${version})`)
  else if (version)
    yield note(
      'database',
      `${where} is at version ${version}`,
      `The next start updates it to version ${latest}. To do it now, run \`gleaner migrate\`.`,
    )
  else
    yield note(
      'database',
      `${where} does not have Gleaner's tables yet (${server})`,
      'The first start creates them.',
    )
  for (const { message, fix } of troubles) yield bad('database', message, fix)
  for (const { message, fix } of notes) yield note('database', message, fix)
  if (version !== latest || troubles.length > 0) return
  const store = await openStoreOf(config)
  try {
    yield* load(store)
    yield* supervisors(store)
    yield* discoveries(store, engine)
  } finally {
    await store.close()
  }
}

/** Whether one file, which one process can write at a time, is still the right place. */
async function* load({ admin, lock }: Store): AsyncGenerator<Check> {
  if (lock === null) return
  const readings = await admin.readMetrics(HOUR_MS)
  const use = lockUse(readings, firstMinute(readings.now, HOUR_MS))
  const why = outgrown(use)
  const busy = `${Number((use.busyShare * 100).toPrecision(2))} % busy, ${use.writesPerSecond} writes a second in the last hour`
  if (why === null) yield ok('load', busy)
  else
    yield note(
      'load',
      why,
      'PostgreSQL serves this load better. Stop all workers, run `gleaner copy --to postgres://…`, and change `database` in the config. See the guide "SQLite".',
    )
}

const HOUR_MS = 3_600_000

async function* supervisors(store: Store): AsyncGenerator<Check> {
  const { supervisors, workers } = await readRegistry(store)
  for (const { name, host, pid, running } of supervisors) {
    if (running) yield ok(`supervisor ${name}`, `runs as pid ${pid} on ${host}`)
  }
  for (const { id, lastExit } of workers.filter(({ status }) => status === 'failed')) {
    yield bad(
      id,
      `was given up: ${lastExit?.reason ?? 'the reason is unknown'}`,
      'Fix the cause, then run `gleaner resume`.',
    )
  }
}

async function* discoveries(store: Store, { discoveries = [] }: Config['engine']): AsyncGenerator<Check> {
  if (discoveries.length === 0) return
  try {
    const sources = new DiscoveryRegistry(discoveries).sources()
    for (const { name, createIndex, versionTrigger, wakeTrigger } of await store.rows.planDiscoveries(
      sources,
    )) {
      yield createIndex === null
        ? ok(`discovery ${name}`, 'an index finds its rows')
        : note(
            `discovery ${name}`,
            'to find its rows, the database reads others as well. Create this index:',
            createIndex,
          )
      if (versionTrigger !== null)
        yield note(
          `discovery ${name}`,
          'its table has no version column, so whole rows are compared. This trigger adds one:',
          versionTrigger,
        )
      if (wakeTrigger !== null)
        yield note(
          `discovery ${name}`,
          'workers find a row within half a second after your app writes it. With this trigger they find it at once:',
          wakeTrigger,
        )
    }
  } catch (error) {
    yield failed('discoveries', error)
  }
}

function ok(what: string, detail: string): Check {
  return { what, state: 'ok', detail, fix: null }
}

function note(what: string, detail: string, fix: string): Check {
  return { what, state: 'note', detail, fix }
}

function bad(what: string, detail: string, fix: string): Check {
  return { what, state: 'bad', detail, fix }
}

function failed(what: string, error: unknown): Check {
  const { message, hint } = error as { message: string; hint?: string }
  const detail = hint === undefined ? message : message.slice(0, -`. ${hint}`.length)
  return { what, state: 'bad', detail, fix: hint ?? null }
}

const COLOURS = { ok: 'green', note: 'yellow', bad: 'red' } as const

function print({ what, state, detail, fix }: Check, { print, style }: Terminal): void {
  print(`${style(COLOURS[state], state.padEnd(5))}${what}: ${detail}`)
  if (fix !== null) for (const line of fix.split('\n')) print(`     ${line}`)
}
