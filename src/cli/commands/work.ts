import type { Config, Pool } from '../../config/types.ts'
import { openGleaner } from '../../engine/open.ts'
import { GleanerError, InputError, StoreError } from '../../errors.ts'
import { nearest } from '../../options.ts'
import { EXIT } from '../../process/exit-codes.ts'
import { hostProgram } from '../../process/foreign-host.ts'
import { CONFIG_OPTIONS, type Command, text, type Values } from '../command.ts'
import { logTo } from '../log.ts'
import { configOf } from '../operations/open.ts'
import { onSignals } from '../signals.ts'
import type { Terminal } from '../terminal.ts'
import { aCount, countOf } from '../values.ts'

const CONCURRENCY_MAX = 99_999

export const work: Command = {
  name: 'work',
  summary: 'Run one worker here, without a supervisor.',
  operands: [{ name: 'pool', about: 'A pool of the config; without one: all tasks.', optional: true }],
  about:
    'One worker in this process, in the foreground: as a process of the named pool would be, or without a name one ' +
    'for all tasks of the config. For development, for containers that are supervised by something else, and for ' +
    'debuggers (node --inspect node_modules/.bin/gleaner work).\n\n' +
    'The first Ctrl-C (or SIGTERM) lets what runs finish within the drain time, the second one ends it now.',
  options: {
    ...CONFIG_OPTIONS,
    queues: { type: 'string', value: 'a,b', about: 'Only these queues.' },
    concurrency: {
      type: 'string',
      value: 'n',
      check: aCount(CONCURRENCY_MAX),
      about: 'So many items at the same time.',
    },
    drained: { type: 'boolean', about: 'Ends when nothing is left to do.' },
    quiet: { type: 'boolean', short: 'q', about: 'Only warnings and errors.' },
    json: { type: 'boolean', about: 'The log as JSON, a line each, on stdout (pino).' },
  },
  exits: [
    ['10', 'The config is not right.'],
    ['11', 'The database is away, or refuses.'],
  ],
  examples: [
    ['gleaner work', 'All tasks of the config.'],
    ['gleaner work ml --concurrency 1', 'As a process of the pool ml, with one item at a time.'],
    ['gleaner work --drained', 'Do what there is, then end.'],
  ],
  async run([poolName], values, terminal) {
    try {
      const config = await configOf(values, terminal)
      return await workOn(config, poolOf(config, poolName), values, terminal)
    } catch (error) {
      if (!(error instanceof GleanerError)) throw error
      terminal.complain(error.message)
      return error instanceof StoreError ? EXIT.database : EXIT.configuration
    }
  },
}

async function workOn(
  config: Config,
  pool: Pool | undefined,
  values: Values,
  terminal: Terminal,
): Promise<number> {
  const logger = logTo(terminal, { json: values.json === true, quiet: values.quiet === true })
  const options = workOptions(pool, values)
  const program = await hostProgram(config, pool?.program, {
    componentId: `worker:pid${process.pid}:0`,
    ownGroup: true,
    onOutput: (line) => logger.info({}, line),
  })
  const gleaner = await openGleaner({ ...config.engine, ...program?.engine })
  gleaner.on('problem', ({ message, error }) => logger.warn({ err: error }, message))
  const worker = gleaner.work(options)
  logger.info({ worker: worker.id }, 'works; Ctrl-C stops')
  const drain = config.supervisor.timings.drain ?? 10_000
  let isForced = false
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const ignore = onSignals(
    () => {
      logger.info({}, 'stopping: what runs may finish; once more ends it now')
      worker.stop({ drain }).then(resolve, resolve)
    },
    () => {
      isForced = true
      resolve()
    },
  )
  await Promise.race([stopped, ...(values.drained === true ? [worker.drained()] : [])])
  ignore()
  if (isForced) process.exit(1)
  await gleaner.close()
  await program?.stop()
  return 0
}

function poolOf({ pools, path }: Config, name: string | undefined): Pool | undefined {
  if (name === undefined) return undefined
  const pool = pools.find((one) => one.name === name)
  if (pool !== undefined) return pool
  const names = pools.map((one) => one.name)
  const meant = nearest(name, names)
  throw new InputError(`${path} has no pool ${name}`, {
    code: 'BAD_CONFIG',
    hint: meant === undefined ? `There are: ${names.join(', ') || 'none'}.` : `Did you mean ${meant}?`,
  })
}

function workOptions(pool: Pool | undefined, values: Values) {
  const queues = text(values.queues)?.split(',') ?? pool?.queues
  const concurrency = countOf('concurrency', values) ?? pool?.concurrency
  return {
    capabilities: pool?.capabilities ?? {},
    ...(queues === undefined ? {} : { queues }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}
