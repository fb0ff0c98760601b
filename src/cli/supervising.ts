import type { Config } from '../config/types.ts'
import { discoveryOf } from '../define/discovery.ts'
import { definitionOf } from '../define/task.ts'
import { serveBeside } from '../http/beside.ts'
import { retryDelayMs } from '../model/retry.ts'
import { Timeline } from '../model/timeline.ts'
import type { Store } from '../store/ports/store.ts'
import type { Supervisor, SupervisorOptions } from '../supervisor/contract.ts'
import type { Logger } from '../supervisor/logger.ts'
import { openSupervisor } from '../supervisor/supervisor.ts'
import { Watching } from './watching.ts'

export interface SuperviseOptions
  extends Pick<SupervisorOptions, 'reports' | 'onReport' | 'reportsFiles' | 'forgets'> {
  logger: Logger
  /** False for logs that are collected: they name the file of the token instead. */
  showToken: boolean
  /** If the port is in use, the server takes the next free one. */
  anotherPort?: boolean
  /** Called when each worker that was started is ready, or has failed. */
  onSettled?: () => void
}

export interface Supervising {
  supervisor: Supervisor
  /** The supervisor must have ended. */
  close(): Promise<void>
}

/** Starts all that a config describes: the server, the supervisor with its workers, the health monitor and the alerts. */
export async function supervise(
  store: Store,
  config: Config,
  { showToken, anotherPort = false, onSettled, ...options }: SuperviseOptions,
): Promise<Supervising> {
  const { logger } = options
  const timeline = new Timeline()
  let settle = () => {}
  const stopServing = await serveBeside(store, config, { logger, timeline, showToken, anotherPort })
  try {
    const watching = new Watching(store, config, logger)
    const supervisor = await openSupervisor({
      store,
      config: config.path,
      pools: config.pools,
      ...config.supervisor,
      ...options,
      retryAfterMs: (name, attempt) => retryAfterMs(config, name, attempt),
      onChange(worker) {
        watching.changed(worker)
        timeline.saw(worker, Date.now())
        settle()
      },
    })
    settle = () => {
      if (supervisor.workers().some(({ status }) => status === 'starting')) return
      settle = () => {}
      onSettled?.()
    }
    settle()
    watching.watch(supervisor)
    return {
      supervisor,
      async close() {
        await watching.stop()
        await stopServing()
      },
    }
  } catch (error) {
    await stopServing()
    throw error
  }
}

/** As the task's own policy says. */
function retryAfterMs({ engine }: Config, name: string, attempt: number): number {
  const task = engine.tasks?.find((one) => one.name === name)
  const discovery = engine.discoveries?.find((one) => one.name === name)
  const policy = task === undefined ? discovery && discoveryOf(discovery).retry : definitionOf(task).retry
  return policy === undefined ? 0 : retryDelayMs(policy, attempt, Math.random())
}
