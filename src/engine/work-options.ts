import { checkName } from '../define/names.ts'
import { checkStrategies } from '../define/queue.ts'
import { checkDistinct } from '../define/resource.ts'
import type { DiscoveryRegistry } from '../discovery/registry.ts'
import type { Capabilities } from '../model/capabilities.ts'
import { chosenOrders } from '../model/chosen-order.ts'
import { checkTypes, declareOptions, refuseUnknown } from '../options.ts'
import type { TaskRegistry } from '../queue/registry.ts'
import type { Store } from '../store/ports/store.ts'
import type { Batched } from '../worker/attempt/attempt.ts'
import type { Source } from '../worker/attempt/source.ts'
import { CautiousStart } from '../worker/isolation/cautious-start.ts'
import { RowsSource } from '../worker/sources/rows.ts'
import { TaskSource } from '../worker/sources/tasks.ts'
import type { WorkOptions } from './gleaner.ts'
import { bad } from './settings.ts'

const CONCURRENCY_DEFAULT = 10
/** One or two may be chance. */
const RESOURCE_ERROR_LIMIT = 10
const OPTIONS = declareOptions<WorkOptions>('work', {
  queues: true,
  discoveries: true,
  concurrency: true,
  capabilities: true,
  strategies: true,
  resourceErrorLimit: true,
})
const CONCURRENCY_MAX = 10_000

export interface KnownDefinitions {
  registry: TaskRegistry
  discoveries: DiscoveryRegistry
}

/** A name stands for one resource, whoever uses it. */
export function checkResources({ registry, discoveries }: KnownDefinitions): void {
  const rows = [...discoveries.pick(discoveries.runnable).values()]
  checkDistinct([...registry.runnable(), ...rows].map(({ uses }) => uses))
}

/** What a worker is to serve, checked. Who names queues or discoveries means only those; who names neither means all. */
export function checkWork(options: WorkOptions, known: KnownDefinitions) {
  refuseUnknown(options, OPTIONS, 'work')
  checkTypes(options, { capabilities: 'object' }, '')
  const { concurrency = CONCURRENCY_DEFAULT, capabilities = {} } = options
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > CONCURRENCY_MAX) {
    throw bad('concurrency', concurrency, `Use a whole number from 1 to ${CONCURRENCY_MAX}.`)
  }
  const { resourceErrorLimit = RESOURCE_ERROR_LIMIT } = options
  if (!Number.isInteger(resourceErrorLimit) || resourceErrorLimit < 1)
    throw bad('resourceErrorLimit', resourceErrorLimit, 'Use a whole number of at least 1.')
  const isNamed = options.queues !== undefined || options.discoveries !== undefined
  const queues = options.queues ?? (isNamed ? [] : known.registry.queues())
  const discoveries = options.discoveries ?? (isNamed ? [] : known.discoveries.runnable)
  if (!Array.isArray(queues)) throw bad('queues', queues, "Use names, e.g. ['default'].")
  if (!Array.isArray(discoveries)) throw bad('discoveries', discoveries, "Use names, e.g. ['tag-files'].")
  if (isNamed && queues.length + discoveries.length === 0)
    throw bad('queues', queues, "Use names, e.g. ['default'], or name discoveries.")
  const names = known.registry.runnable().map((definition) => definition.name)
  const isIdle = names.length === 0 && discoveries.length === 0
  if (isIdle || (names.length === 0 && options.queues !== undefined && queues.length > 0))
    throw bad('work', 'no task with a run', 'Give openGleaner the tasks this worker can run.')
  return {
    concurrency,
    resourceErrorLimit,
    capabilities,
    queues: queues.map((queue) => checkName(queue, 'queue', 'BAD_QUEUE')),
    names,
    orders: chosenOrders(checkStrategies(options.strategies, queues), known.registry.strategies(names)),
    rows: known.discoveries.pick(discoveries),
  }
}

/** Tasks, rows, or both. */
export function sourcesOf(
  {
    queues,
    names,
    capabilities,
    orders,
    rows,
  }: ReturnType<typeof checkWork> & { capabilities: Capabilities },
  store: Pick<Store, 'tasks' | 'rows'>,
  { registry }: KnownDefinitions,
  avoid: readonly string[] = [],
): Source[] {
  const definitions = new Map(registry.runnable().map((definition) => [definition.name, definition]))
  const served = queues.length > 0 ? byCall(definitions, names) : []
  const found = byCall(rows, [...rows.keys()])
  const cautiousStart = avoid.length === 0 ? null : new CautiousStart(avoid, served.length + found.length)
  return [
    ...served.map((some) => {
      const able = { queues, names: [...some.keys()], capabilities, orders }
      return new TaskSource(store.tasks, able, some, cautiousStart)
    }),
    ...found.map((some) => new RowsSource(store.rows, some, cautiousStart)),
  ]
}

/** Handlers that take one item, and those that take many: they are claimed by other numbers. */
function byCall<D extends Batched>(
  definitions: ReadonlyMap<string, D>,
  names: readonly string[],
): Map<string, D>[] {
  const all = names.map((name) => definitions.get(name)!)
  const [single, batched] = [
    all.filter(({ batch }) => batch === null),
    all.filter(({ batch }) => batch !== null),
  ]
  return [single, batched].flatMap((some) =>
    some.length === 0 ? [] : [new Map(some.map((definition) => [definition.name, definition]))],
  )
}
