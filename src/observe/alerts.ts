import { type Alert, type AlertLimits, alertsOf, alertWindowMs, type WaitingRows } from '../model/alerts.ts'
import type { Store } from '../store/ports/store.ts'
import { countAndNote, describeDiscoveries, wereLeft } from './rows.ts'

/** What a person should look at now. Of other processes, what they have written down. */
export async function readAlerts(
  store: Pick<Store, 'rows' | 'admin'>,
  limits: AlertLimits,
): Promise<Alert[]> {
  const [readings, demand, queues, discoveries] = await Promise.all([
    store.admin.readMetrics(alertWindowMs(limits)),
    store.admin.demand(),
    store.admin.listQueues(),
    readWaiting(store),
  ])
  const pausedQueues = new Set(queues.filter(({ paused }) => paused).map(({ name }) => name))
  return alertsOf({ readings, demand, pausedQueues, discoveries }, limits)
}

/** Whether any wait is known by one row; only then are they counted, which is done aside, and once more when there are none. */
async function readWaiting(store: Pick<Store, 'rows' | 'admin'>): Promise<WaitingRows[]> {
  const discoveries = await describeDiscoveries(store)
  const counted = await Promise.all(discoveries.map(async ({ name }) => countIfAny(store, name)))
  const waiting = discoveries.filter((_, n) => counted[n]!.waiting > 0).map(({ name }) => name)
  const since = await store.rows.noteWaiting(waiting)
  return discoveries.map(({ name, paused }, n) => {
    return { name, paused, ...counted[n]!, waitingSince: since.get(name) ?? null }
  })
}

async function countIfAny(
  store: Pick<Store, 'rows' | 'admin'>,
  name: string,
): Promise<{ waiting: number; claimed: number }> {
  const { items } = await store.rows.listRows(name, { state: 'waiting' }, { limit: 1, cursor: null })
  if (items.length === 0 && !(await wereLeft(store.admin, name))) return { waiting: 0, claimed: 0 }
  const { waiting, claimed } = await countAndNote(store, name)
  return { waiting, claimed }
}
