import { type Alert, type AlertLimits, alertsOf, alertWindowMs } from '../model/alerts.ts'
import type { Store } from '../store/contract.ts'

/** What a person should look at now. Of other processes, what they have written down. */
export async function readAlerts(store: Store, limits: AlertLimits): Promise<Alert[]> {
  const [readings, demand, queues] = await Promise.all([
    store.readMetrics(alertWindowMs(limits)),
    store.demand(),
    store.listQueues(),
  ])
  const pausedQueues = new Set(queues.filter(({ paused }) => paused).map(({ name }) => name))
  return alertsOf({ readings, demand, pausedQueues }, limits)
}
