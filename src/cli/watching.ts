import { systemClock } from '../clock.ts'
import type { Config } from '../config/types.ts'
import { HealthHistory } from '../health/history.ts'
import { HealthMonitor } from '../health/monitor.ts'
import type { Alert } from '../model/alerts.ts'
import type { WorkerRecord } from '../model/worker.ts'
import { readAlerts } from '../observe/alerts.ts'
import type { Store } from '../store/ports/store.ts'
import type { Supervisor } from '../supervisor/contract.ts'
import type { Logger } from '../supervisor/logger.ts'

/** Everything that only looks: the health monitor with its history, and the alerts. Nothing depends on it. */
export class Watching {
  readonly #monitor: HealthMonitor
  readonly #history: HealthHistory
  readonly #logger: Logger
  readonly #readAlerts: () => Promise<Alert[]>
  readonly #alertsEveryMs: number
  #raised = new Map<string, Alert>()
  #cancelAlerts: () => void = () => {}
  #supervisor: Supervisor | undefined

  constructor(store: Pick<Store, 'sessions' | 'rows' | 'admin'>, { alerts }: Config, logger: Logger) {
    this.#logger = logger
    this.#monitor = new HealthMonitor(systemClock, {
      onChange: (change) => {
        this.#history.changed(change)
        if (change.before === null) return
        const level = change.status === 'healthy' || change.status === 'pending' ? 'info' : 'warn'
        logger[level](
          { worker: change.id, health: change.status },
          `health: ${change.before} → ${change.status}`,
        )
      },
      onProblem: (message, err) => logger.error({ err }, message),
    })
    this.#history = new HealthHistory(systemClock, this.#monitor, (notes) => store.sessions.noteHealth(notes))
    this.#alertsEveryMs = alerts.everyMs
    this.#readAlerts = () => readAlerts(store, alerts)
  }

  watch(supervisor: Supervisor): void {
    this.#supervisor = supervisor
    for (const { id } of supervisor.workers()) this.#monitor.register(id, supervisor)
    this.#lookForAlerts()
  }

  /** One that was given up and has another chance is looked at again. */
  changed({ id, health }: WorkerRecord): void {
    if (this.#supervisor !== undefined && this.#monitor.get(id)?.status === 'failed' && health !== 'failed')
      this.#monitor.register(id, this.#supervisor)
  }

  async stop(): Promise<void> {
    this.#cancelAlerts()
    this.#monitor.stop()
    await this.#history.stop()
  }

  #lookForAlerts(): void {
    this.#cancelAlerts = systemClock.afterIfAlive(this.#alertsEveryMs, async () => {
      try {
        this.#tell(await this.#readAlerts())
      } catch (err) {
        this.#logger.warn({ err }, 'the alerts could not be read')
      }
      this.#lookForAlerts()
    })
  }

  /** Of each alert twice: when it is raised, and when it is over. */
  #tell(alerts: readonly Alert[]): void {
    const raised = new Map(alerts.map((alert) => [`${alert.queue}/${alert.discovery} ${alert.kind}`, alert]))
    for (const [key, { message, fix, ...about }] of raised) {
      if (!this.#raised.has(key)) this.#logger.warn(about, `alert: ${message}. ${fix}`)
    }
    for (const [key, { message: _, fix: __, ...about }] of this.#raised) {
      const { kind, queue, discovery } = about
      if (!raised.has(key)) this.#logger.info(about, `alert over: ${kind} of ${queue ?? discovery}`)
    }
    this.#raised = raised
  }
}
