import type { Assignment } from '../process/assignment.ts'
import { listed } from '../process/descendants.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import { Child, type ChildEvents } from './child.ts'
import type { SupervisorSetup } from './contract.ts'
import type { Logger } from './logger.ts'
import type { Slot } from './slot.ts'
import type { Incarnation } from './state.ts'
import type { Timings } from './timings.ts'

interface SpawnOptions extends Omit<SupervisorSetup, 'timings' | 'logger'> {
  supervisor: ProcessIdentity
  logger: Logger
  timings: Timings
}

/** Starts the next process of a slot. Its events go to the slot, to the log, and to the listener for reports. */
export function spawnChild(options: SpawnOptions, slot: Slot, incarnation: Incarnation): Child {
  const { env = {}, logger } = options
  const child = new Child(assignmentOf(options, slot, incarnation), env, eventsOf(options, slot))
  if (child.pid !== null)
    logger.info({ worker: slot.id, pid: child.pid, incarnation: incarnation.incarnation }, 'worker started')
  return child
}

function assignmentOf(
  options: SpawnOptions,
  { pool, id, index }: Slot,
  incarnation: Incarnation,
): Assignment {
  const { config, supervisor, timings, reports = null, reportsFiles = false } = options
  const { concurrency, queues = null, discoveries, capabilities, strategies, program = null } = pool
  return {
    config,
    worker: id,
    pool: pool.name,
    index,
    supervisor,
    concurrency,
    queues,
    discoveries,
    capabilities,
    strategies,
    resourceErrorLimit: pool.resourceErrorLimit ?? null,
    program,
    ...incarnation,
    frameEveryMs: timings.frameMs,
    startupMs: timings.startupMs,
    reports,
    reportsFiles,
  }
}

function eventsOf({ logger, onReport }: SpawnOptions, slot: Slot): ChildEvents {
  const worker = slot.id
  return {
    frame: (child, frame) => slot.heard(child, frame),
    exit: (child, exit) => slot.exited(child, exit),
    report: (_child, report) => onReport?.(worker, report),
    line: ({ pid }, stream, text) => logger.info({ worker, pid, stream }, text),
    // Processes that the worker had started, and that left its process group.
    descendants: ({ pid }, { killed, left }) => {
      const [killedPids, leftPids] = [killed.map((one) => one.pid), left.map((one) => one.pid)]
      if (killed.length > 0)
        logger.warn(
          { worker, pid, killed: killedPids },
          `killed the processes that it had started: ${listed(killed)}`,
        )
      if (left.length > 0)
        logger.warn(
          { worker, pid, left: leftPids },
          `processes that it had started still run: ${listed(left)}`,
        )
    },
  }
}
