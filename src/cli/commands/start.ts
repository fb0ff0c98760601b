import { mustHavePools } from '../../config/pools.ts'
import { StoreError } from '../../errors.ts'
import { EXIT } from '../../model/exit.ts'
import type { Supervisor } from '../../supervisor/contract.ts'
import type { Logger } from '../../supervisor/logger.ts'
import { CONFIG_OPTIONS, type Command, LOG_OPTIONS } from '../console/command.ts'
import { withoutPassword } from '../console/database-name.ts'
import { wordsOf } from '../console/error-words.ts'
import { onSignals } from '../console/signals.ts'
import type { Terminal } from '../console/terminal.ts'
import { packageVersion } from '../console/version.ts'
import { plural } from '../console/words.ts'
import { withStore } from '../operations/opening.ts'
import { logReport } from '../text/work-line.ts'

export const start: Command = {
  name: 'start',
  summary: 'Run the supervisor and the pools of the config.',
  operands: [],
  about:
    'Starts the worker processes of all pools in the config and keeps them alive. If a worker process dies, the ' +
    'supervisor gives its work back at once and restarts it. If a worker keeps crashing, the supervisor gives it up, ' +
    'and `gleaner status` says why. The command runs in the foreground until you stop it.\n\n' +
    'The first Ctrl-C (or SIGTERM) stops it gracefully: workers claim nothing more, and running items get the drain ' +
    'time of the config (10 s) to finish. The second Ctrl-C stops it at once: unfinished items go back to their queue ' +
    'or table and lose no attempt.\n\n' +
    'Each supervisor name can run once per database. If the name is in use, the command ends with an error that names ' +
    'the host and the process that has it.\n\n' +
    'The log has one line for each failed attempt of a task or row: the item, the attempt, the error, and when the ' +
    'next attempt follows. For development, use `gleaner dev`.',
  options: {
    ...CONFIG_OPTIONS,
    attached: {
      type: 'boolean',
      about: 'Stop gracefully when stdin ends: for programs that start this one.',
    },
    ...LOG_OPTIONS,
  },
  examples: [
    ['gleaner start', 'Use the nearest config.'],
    ['gleaner start --verbose', 'Log each task and row that completes, too.'],
    ['gleaner start --json --quiet >> gleaner.log', 'Write a JSON log for a log shipper.'],
    ['GLEANER_DATABASE=postgres://db/app gleaner start', 'Use the same config on another database.'],
  ],
  exits: [['11', 'The database cannot be reached.']],
  run: (_operands, values, terminal) =>
    withStore(values, terminal, async (store, config) => {
      mustHavePools(config)
      // The other commands load no server, supervisor or logger.
      const [{ supervise }, { logTo }] = await Promise.all([
        import('../console/supervising.ts'),
        import('../console/log.ts'),
      ])
      const logger = logTo(terminal, { json: values.json === true, quiet: values.quiet === true })
      const { supervisor, close } = await supervise(store, config, {
        logger,
        showToken: values.json !== true && !terminal.isReadByOthers,
        reports: values.verbose === true ? 'completions' : 'failures',
        onReport(worker, report) {
          if (report.kind !== 'loaded') logReport(logger, worker, report)
        },
      })
      try {
        const count = supervisor.workers().length
        const database = withoutPassword(config.engine.database)
        // The line says how to stop it, so the signals must work before.
        const stopped = untilStopped(supervisor, logger, values.attached === true)
        logger.info(
          { supervisor: supervisor.name },
          `gleaner ${packageVersion()} on ${database}: ${plural(config.pools.length, 'pool')}, ${plural(count, 'worker')}; Ctrl-C stops`,
        )
        const { code } = await stopped
        logger.info({}, 'stopped')
        return code
      } finally {
        await close()
      }
    }).catch((error) => away(error, terminal)),
}

/** A supervisor that waited for a database would hide a wrong address. What started it decides whether to start it again. */
function away(error: unknown, { complain, style }: Terminal): number {
  if (!(error instanceof StoreError) || error.code !== 'STORE_AWAY') throw error
  const [message, hint] = wordsOf(error)
  complain(`${style('red', 'error:')} ${message}`)
  complain(
    `${hint} gleaner start does not wait for it: run it again when the database answers, or let systemd or your container platform restart it.`,
  )
  return EXIT.database
}

/** It may also end by itself, when another supervisor is in office. */
async function untilStopped(
  supervisor: Supervisor,
  logger: Logger,
  isAttached: boolean,
): Promise<{ code: number }> {
  let [isAsked, isForced] = [false, false]
  // Whoever started it is gone, or has no more need of it.
  const onEnd = () => {
    isAsked = true
    void supervisor.stop()
  }
  if (isAttached) process.stdin.once('end', onEnd).once('error', onEnd).resume()
  const ignore = onSignals(
    (signal) => {
      isAsked = true
      logger.info({ signal }, 'stopping: running items may finish; press Ctrl-C again to stop now')
      void supervisor.stop()
    },
    () => {
      isForced = true
      logger.warn({}, 'stopping now: unfinished items go back')
      void supervisor.stop({ drain: 0 })
    },
  )
  await supervisor.ended
  ignore()
  if (isAttached) process.stdin.pause()
  return { code: isAsked && !isForced ? 0 : 1 }
}
