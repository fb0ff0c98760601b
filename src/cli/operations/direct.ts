import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/types.ts'
import type { Gleaner } from '../../engine/gleaner.ts'
import { insideOf } from '../../engine/inside.ts'
import { openEngine } from '../../engine/open.ts'
import { GleanerError } from '../../errors.ts'
import { allDiscoveries } from '../../http/protocol/all-discoveries.ts'
import { readAlerts } from '../../observe/alerts.ts'
import type { Store } from '../../store/ports/store.ts'
import { readRegistry } from '../../supervisor/reading.ts'
import { withoutPassword } from '../console/database-name.ts'
import type { Operations, Overview } from './contract.ts'

/** On the database itself. `gleaner` has no tasks of its own: whoever only looks plans nothing. */
export function directOperations(gleaner: Gleaner, config: Config): Operations {
  const { store } = insideOf(gleaner)
  return {
    overview: () => overviewOf(gleaner, store, config),
    tasks: gleaner.tasks,
    queues: gleaner.queues,
    discoveries: { ...gleaner.discoveries, list: () => allDiscoveries(gleaner) },
    schedules: {
      ...gleaner.schedules,
      trigger: (name) => withCode(store, config, (engine) => engine.schedules.trigger(name)),
    },
    workers: gleaner.workers,
    maintenance: gleaner.maintenance,
    enqueuable: async () => (config.engine.tasks ?? []).map(({ name }) => name),
    enqueue: (name, input, options) =>
      withCode(store, config, (engine) => engine.enqueue(taskOf(config, name), input as never, options)),
    signal: (item, name, payload) => gleaner.signal(item, name, payload),
    pause: () => gleaner.pause(),
    resume: () => gleaner.resume(),
  }
}

async function overviewOf(gleaner: Gleaner, store: Store, { engine, alerts }: Config): Promise<Overview> {
  const [{ supervisors }, workers, components, queues, discoveries, raised, paused] = await Promise.all([
    readRegistry(store),
    gleaner.workers.list(),
    gleaner.health.components(),
    gleaner.queues.list(),
    allDiscoveries(gleaner),
    readAlerts(store, alerts),
    store.admin.everythingIsPaused(),
  ])
  return {
    place: withoutPassword(engine.database),
    asOf: Date.now(),
    paused,
    supervisors,
    workers,
    components,
    queues,
    discoveries,
    alerts: raised,
  }
}

/** An engine that knows the tasks of the config, on the same store. Rows are none of its business. */
async function withCode<T extends { id: string; created: boolean }>(
  store: Store,
  { engine }: Config,
  use: (engine: Gleaner) => Promise<T>,
): Promise<{ id: string; created: boolean }> {
  const {
    database: _,
    postgres: __,
    sqlite: ___,
    discoveries: ____,
    queues: _____,
    hooks: ______,
    ...options
  } = engine
  const unclosed = { ...store, close: async () => {} }
  const inner = await openEngine({ store: unclosed, clock: systemClock, random: Math.random }, options)
  try {
    const { id, created } = await use(inner)
    return { id, created }
  } finally {
    await inner.close()
  }
}

function taskOf({ engine, path }: Config, name: string) {
  const task = engine.tasks?.find((one) => one.name === name)
  if (task !== undefined) return task
  throw new GleanerError(`${path} has no task ${name}`, { code: 'UNKNOWN_TASK' })
}
