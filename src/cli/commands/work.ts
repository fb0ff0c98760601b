import type { Config, Pool } from '../../config/types.ts'
import type { RunningWorker } from '../../engine/gleaner.ts'
import { openGleaner } from '../../engine/open.ts'
import { GleanerError, InputError, StoreError } from '../../errors.ts'
import { EXIT, exitOfFailed } from '../../model/exit.ts'
import type { Strategy } from '../../model/queue.ts'
import { namesHint } from '../../options.ts'
import { WorkReporter } from '../../process/work-reporter.ts'
import type { Logger } from '../../supervisor/logger.ts'
import { CONFIG_OPTIONS, type Command, LOG_OPTIONS, text, type Values } from '../console/command.ts'
import { onSignals } from '../console/signals.ts'
import type { Terminal } from '../console/terminal.ts'
import { aCount, countOf } from '../console/values.ts'
import { configOf } from '../operations/open.ts'
import { logReport } from '../text/work-line.ts'

const CONCURRENCY_MAX = 99_999

export const work: Command = {
  name: 'work',
  summary: 'Run one worker in this process, without a supervisor.',
  operands: [
    { name: 'pool', about: 'A pool of the config. Default: one worker for all tasks.', optional: true },
  ],
  about:
    'Runs one worker in this process, in the foreground. With the name of a pool it works as a process of that pool ' +
    'would; without a name it serves all tasks of the config. Use it in containers that something else supervises, and ' +
    'with debuggers: node --inspect node_modules/.bin/gleaner work. For development, use `gleaner dev`.\n\n' +
    'The first Ctrl-C (or SIGTERM) gives running items the drain time to finish. The second Ctrl-C stops the worker at ' +
    'once.\n\n' +
    'The log has one line for each failed attempt of a task or row.',
  options: {
    ...CONFIG_OPTIONS,
    queues: { type: 'string', value: 'a,b', about: 'Serve only these queues.' },
    concurrency: {
      type: 'string',
      value: 'n',
      check: aCount(CONCURRENCY_MAX),
      about: 'How many items run at the same time.',
    },
    strategies: {
      type: 'string',
      value: 'queue=order,…',
      about: 'Serve these queues in another order than the stored one, e.g. media=lifo.',
    },
    drained: { type: 'boolean', about: 'Exit when no work is left.' },
    ...LOG_OPTIONS,
  },
  exits: [
    ['10', 'The config has an error.'],
    ['11', 'The database cannot be reached, or refuses the connection.'],
    ['12', 'A resource did not load, too many times in a row.'],
    ['13', 'Too many resource errors in a row.'],
  ],
  examples: [
    ['gleaner work', 'Run all tasks of the config.'],
    ['gleaner work ml --concurrency 1', 'Work as a process of the pool ml, one item at a time.'],
    ['gleaner work --drained', 'Do all the work that is due, then exit.'],
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
  const [{ logTo }, { hostProgram }] = await Promise.all([
    import('../console/log.ts'),
    import('../../process/foreign-host.ts'),
  ])
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
  const reporter = new WorkReporter((report) => {
    if (report.kind !== 'loaded') logReport(logger, worker.id, report)
  })
  reporter.follow(gleaner, values.verbose === true ? 'completions' : 'failures')
  logger.info({ worker: worker.id }, 'working; Ctrl-C stops')
  const drain = config.supervisor.timings.drain ?? 10_000
  let isForced = false
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const ignore = onSignals(
    () => {
      logger.info({}, 'stopping: running items may finish; press Ctrl-C again to stop now')
      worker.stop({ drain }).then(resolve, resolve)
    },
    () => {
      isForced = true
      resolve()
    },
  )
  const gaveUp = new Promise<void>((end) => gleaner.on('worker-failed', () => end()))
  // A worker that gave up rejects: its exit code says so.
  const drained = values.drained === true ? [worker.drained().catch(() => gaveUp)] : []
  await Promise.race([stopped, gaveUp, ...drained])
  ignore()
  if (isForced) process.exit(1)
  await gleaner.close()
  reporter.flush()
  await program?.stop()
  return exitOf(worker, logger)
}

function exitOf({ id, failed }: RunningWorker, logger: Logger): number {
  if (failed === null) return EXIT.clean
  logger.error({ worker: id }, failed.message)
  return exitOfFailed(failed)
}

function poolOf({ pools, path }: Config, name: string | undefined): Pool | undefined {
  if (name === undefined) return undefined
  const pool = pools.find((one) => one.name === name)
  if (pool !== undefined) return pool
  const names = pools.map((one) => one.name)
  throw new InputError(`${path} has no pool ${name}`, {
    code: 'BAD_CONFIG',
    hint: namesHint(name, names),
  })
}

function workOptions(pool: Pool | undefined, values: Values) {
  const queues = text(values.queues)?.split(',') ?? pool?.queues
  const concurrency = countOf('concurrency', values) ?? pool?.concurrency
  return {
    capabilities: pool?.capabilities ?? {},
    strategies: strategiesOf(values, pool),
    ...(pool?.resourceErrorLimit === undefined ? {} : { resourceErrorLimit: pool.resourceErrorLimit }),
    ...(queues === undefined ? {} : { queues }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

/** Those of the pool, for the queues that are served. */
function strategiesOf(values: Values, pool: Pool | undefined): Record<string, Strategy> {
  const given = text(values.strategies)
  if (given !== undefined) {
    const pairs = given.split(',').map((pair) => pair.split('='))
    // Checked by the worker.
    return Object.fromEntries(pairs.map(([queue = '', strategy]) => [queue, strategy as Strategy]))
  }
  const queues = text(values.queues)?.split(',')
  const stored = Object.entries(pool?.strategies ?? {})
  return Object.fromEntries(stored.filter(([queue]) => queues === undefined || queues.includes(queue)))
}
