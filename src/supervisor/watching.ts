import { systemClock } from '../clock.ts'
import type { Config } from '../config/types.ts'
import type { HistoryTarget } from '../health/history.ts'
import { HealthMonitor } from '../health/monitor.ts'
import type { Alert } from '../model/alerts.ts'
import type { WorkerRecord } from '../model/worker.ts'
import { readAlerts } from '../observe/alerts.ts'
import type { Store } from '../store/ports/store.ts'
import type { Supervisor } from './contract.ts'
import type { Logger } from './logger.ts'

const INTERVAL_MS = 1_000

/** Everything that only looks: the health monitor with its history, and the alerts. Nothing depends on it. */
export class Watching {
  readonly monitor: HealthMonitor
  readonly #logger: Logger
  readonly #readAlerts: () => Promise<Alert[]>
  readonly #alertsEveryMs: number
  #raised = new Map<string, Alert>()
  #cancelAlerts: () => void = () => {}
  #supervisor: Supervisor | undefined

  constructor(
    store: Pick<Store, 'sessions' | 'rows' | 'admin'>,
    { alerts }: Pick<Config, 'alerts'>,
    logger: Logger,
  ) {
    this.#logger = logger
    this.monitor = new HealthMonitor({ interval: INTERVAL_MS, history: historyIn(store) })
    this.monitor.on('change', ({ id, status, before }) => {
      if (before === null) return
      const level = status === 'healthy' || status === 'pending' ? 'info' : 'warn'
      logger[level]({ worker: id, health: status }, `health: ${before} → ${status}`)
    })
    this.monitor.on('problem', ({ id, message, error }) => logger.error({ worker: id, err: error }, message))
    this.#alertsEveryMs = alerts.everyMs
    this.#readAlerts = () => readAlerts(store, alerts)
  }

  watch(supervisor: Supervisor): void {
    this.#supervisor = supervisor
    this.monitor.register(
      supervisor,
      supervisor.workers().map(({ id }) => id),
    )
    this.#lookForAlerts()
  }

  /** A worker that was given up and has started again is monitored again. */
  changed({ id, health }: WorkerRecord): void {
    if (this.#supervisor !== undefined && this.monitor.status(id) === 'failed' && health !== 'failed')
      this.monitor.register(this.#supervisor, id)
  }

  async stop(): Promise<void> {
    this.#cancelAlerts()
    await this.monitor.stop()
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

/** Workers have records of their own: of them only the history is kept. */
function historyIn({ sessions }: Pick<Store, 'sessions'>): HistoryTarget {
  return { health: { record: (notes) => sessions.noteHealth(notes), forget: async () => {} } }
}
