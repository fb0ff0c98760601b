import type { Config } from '../../config/types.ts'
import { serveBeside } from '../../http/beside.ts'
import { Timeline } from '../../model/timeline.ts'
import type { Store } from '../../store/ports/store.ts'
import type { Supervisor, SupervisorSetup } from '../../supervisor/contract.ts'
import type { Logger } from '../../supervisor/logger.ts'
import { startSupervision } from '../../supervisor/starting.ts'

export interface SuperviseOptions
  extends Pick<SupervisorSetup, 'reports' | 'onReport' | 'reportsFiles' | 'forgets'> {
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
    const { supervisor, close } = await startSupervision(store, config, {
      ...options,
      onChange(worker) {
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
    return {
      supervisor,
      async close() {
        await close()
        await stopServing()
      },
    }
  } catch (error) {
    await stopServing()
    throw error
  }
}
