import { type Alert, type AlertLimits, alertsOf, alertWindowMs } from '../model/alerts.ts'
import type { Store } from '../store/contract.ts'

/** What a person should look at now. Of other processes, what they have written down. */
export async function readAlerts(store: Store, limits: AlertLimits): Promise<Alert[]> {
  const [readings, demand, queues, discoveries] = await Promise.all([
    store.readMetrics(alertWindowMs(limits)),
    store.demand(),
    store.listQueues(),
    readWaiting(store),
  ])
  const pausedQueues = new Set(queues.filter(({ paused }) => paused).map(({ name }) => name))
  return alertsOf({ readings, demand, pausedQueues, discoveries }, limits)
}

/** One row is enough to know: counting them all could take long. */
async function readWaiting(store: Store) {
  const discoveries = await store.listDiscoveries()
  return Promise.all(
    discoveries.map(async ({ name, paused }) => {
      const { items } = await store.listRows(name, { state: 'waiting' }, { limit: 1, cursor: null })
      return { name, paused, hasWaiting: items.length > 0 }
    }),
  )
}
