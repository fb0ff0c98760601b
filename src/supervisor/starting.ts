import type { Config } from '../config/types.ts'
import { discoveryOf } from '../define/discovery.ts'
import { definitionOf } from '../define/task.ts'
import type { HealthMonitor } from '../health/monitor.ts'
import { retryDelayMs } from '../model/retry.ts'
import type { Store } from '../store/ports/store.ts'
import type { Supervisor, SupervisorSetup } from './contract.ts'
import type { Logger } from './logger.ts'
import { openSupervisor } from './supervisor.ts'
import { Watching } from './watching.ts'

export type StartingOptions = Pick<
  SupervisorSetup,
  'reports' | 'onReport' | 'reportsFiles' | 'forgets' | 'onChange'
> & { logger: Logger; name?: string }

export interface Started {
  supervisor: Supervisor
  /** Monitors the workers. */
  monitor: HealthMonitor
  /** Ends the monitoring. The supervisor must have ended. */
  close(): Promise<void>
}

/** Starts the supervisor of a config with its workers, and the health monitor and the alerts beside it. */
export async function startSupervision(
  store: Store,
  config: Config,
  { onChange = () => {}, ...options }: StartingOptions,
): Promise<Started> {
  const watching = new Watching(store, config, options.logger)
  const supervisor = await openSupervisor({
    store,
    config: config.path,
    pools: config.pools,
    ...config.supervisor,
    ...options,
    name: options.name ?? config.supervisor.name,
    retryAfterMs: (name, attempt) => retryAfterMs(config, name, attempt),
    onChange(worker) {
      watching.changed(worker)
      onChange(worker)
    },
  })
  watching.watch(supervisor)
  return { supervisor, monitor: watching.monitor, close: () => watching.stop() }
}

/** As the task's own policy says. */
function retryAfterMs({ engine }: Config, name: string, attempt: number): number {
  const task = engine.tasks?.find((one) => one.name === name)
  const discovery = engine.discoveries?.find((one) => one.name === name)
  const policy = task === undefined ? discovery && discoveryOf(discovery).retry : definitionOf(task).retry
  return policy === undefined ? 0 : retryDelayMs(policy, attempt, Math.random())
}
