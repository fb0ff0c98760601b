import { InputError } from '../../errors.ts'
import type { Client } from '../../http/client.ts'
import type { HealthReport, Info } from '../../http/wire/types.ts'
import type { ComponentRecord } from '../../model/health.ts'
import { readRowId } from '../../model/row.ts'
import type { BulkAnswer, BulkOptions } from '../../queue/bulk.ts'
import type { TaskQuery } from '../../queue/task-query.ts'
import type { Operations, Overview } from './contract.ts'

type Items<T> = { items: T[] }

const one = (id: string) => `tasks/${encodeURIComponent(id)}`
const discovery = (name: string) => `discoveries/${encodeURIComponent(name)}`
const row = (name: string, key: string) => `${discovery(name)}/rows/${addressable(key)}`

/** Over HTTP: what the server lets out, and no more. */
export function remoteOperations(client: Client): Operations {
  const { get, post } = client
  return {
    overview: () => overviewOf(client),
    tasks: tasksOf(client),
    queues: { list: () => itemsOf(client, 'queues'), ...pausingOf(client, 'queues') },
    discoveries: discoveriesOf(client),
    schedules: {
      list: () => itemsOf(client, 'schedules'),
      ...pausingOf(client, 'schedules'),
      trigger: (name) => post(`schedules/${encodeURIComponent(name)}/trigger`),
    },
    workers: {
      list: () => itemsOf(client, 'workers'),
      pause: commandOf(client, 'pause'),
      resume: commandOf(client, 'resume'),
      restart: commandOf(client, 'restart'),
    },
    maintenance: {
      check: async () => (await post<Items<never>>('maintenance/check')).items,
      prune: (retention, watch = {}) => post('maintenance/prune', retention, watch.onProgress),
    },
    enqueuable: async () => (await get<Info>('info')).tasks.map(({ name }) => name),
    enqueue: (name, input, options) => post('tasks', { name, input, options }),
    signal: (item, name, payload) => {
      const found = readRowId(item)
      if (found === null) return post(`${one(item)}/signals`, { name, payload })
      return post(`${discovery(found.discovery)}/rows/signals`, { key: found.key, name, payload })
    },
    pause: () => post('pause'),
    resume: () => post('resume'),
  }
}

function tasksOf(client: Client): Operations['tasks'] {
  const { get, post } = client
  const bulk =
    (change: string) =>
    (filter: TaskQuery, options: BulkOptions = {}) => {
      const { dryRun, all, onProgress } = options
      return post<BulkAnswer>(`tasks/${change}`, { filter, dryRun, all }, onProgress)
    }
  return {
    get: (id) => orNull(get(one(id)), 'TASK_GONE'),
    list: (query = {}) => get('tasks', inAddress(query)),
    logs: (id, page = {}) => get(`${one(id)}/logs`, { ...page }),
    attempts: (id) => itemsOf(client, `${one(id)}/attempts`),
    steps: (id) => itemsOf(client, `${one(id)}/steps`),
    tree: (id) => get(`${one(id)}/tree`),
    explain: (id) => get(`${one(id)}/explain`),
    retry: async (id) => void (await post(`${one(id)}/retry`)),
    cancel: async (id) => (await post<{ cancelled: boolean }>(`${one(id)}/cancel`)).cancelled,
    remove: (id) => client.delete(one(id)),
    retryAll: bulk('retry'),
    cancelAll: bulk('cancel'),
    removeAll: bulk('remove'),
  }
}

function discoveriesOf(client: Client): Operations['discoveries'] {
  const { get, post } = client
  return {
    list: () => itemsOf(client, 'discoveries'),
    rows: (name, query = {}) => get(`${discovery(name)}/rows`, { ...query }),
    row: (name, key) => orNull(get(row(name, key)), 'ROW_GONE'),
    explain: (name, key) => get(`${row(name, key)}/explain`),
    steps: (name, key) => itemsOf(client, `${row(name, key)}/steps`),
    retry: (name, key) => post(`${discovery(name)}/rows/retry`, { key }),
    release: async (name, key) => {
      const all = key === undefined
      const path = all ? `${discovery(name)}/release` : `${discovery(name)}/rows/release`
      return (await post<{ released: number }>(path, all ? undefined : { key })).released
    },
    ...pausingOf(client, 'discoveries'),
  }
}

async function itemsOf<T>({ get }: Client, path: string): Promise<T[]> {
  return (await get<Items<T>>(path)).items
}

function pausingOf({ post }: Client, what: string) {
  const set = (verb: string) => (name: string) => post<void>(`${what}/${encodeURIComponent(name)}/${verb}`)
  return { pause: set('pause'), resume: set('resume') }
}

/** To one worker, or to all. */
function commandOf({ post }: Client, verb: string) {
  return (id?: string) =>
    post<void>(id === undefined ? `workers/${verb}` : `workers/${encodeURIComponent(id)}/${verb}`)
}

async function overviewOf({ get, place }: Client): Promise<Overview> {
  const [supervisors, workers, components, queues, discoveries, health, info] = await Promise.all([
    get<Items<never>>('supervisors'),
    get<Items<never>>('workers'),
    componentsOf(get),
    get<Items<never>>('queues'),
    get<Items<never>>('discoveries'),
    get<HealthReport>('health'),
    get<Info>('info'),
  ])
  return {
    place,
    asOf: Date.now(),
    // A server of an older release does not say.
    paused: info.paused ?? false,
    supervisors: supervisors.items,
    workers: workers.items,
    components,
    queues: queues.items,
    discoveries: discoveries.items,
    alerts: health.alerts,
  }
}

/** A server of an older release has no such route. */
async function componentsOf(get: Client['get']): Promise<ComponentRecord[]> {
  const found = await orNull(get<Items<ComponentRecord>>('components'), 'NOT_FOUND')
  return found?.items ?? []
}

function orNull<T>(answer: Promise<T>, gone: string): Promise<T | null> {
  return answer.catch((error: { code?: string }) => {
    if (error.code === gone) return null
    throw error
  })
}

/** The key of a row, in an address. What is resolved on the way there would name something else. */
function addressable(key: string): string {
  if (key !== '' && key !== '.' && key !== '..') return encodeURIComponent(key)
  throw new InputError(`a row whose key is ${JSON.stringify(key)} cannot be shown over HTTP`, {
    code: 'BAD_OPTION',
    hint: 'Run the command on the machine of the database, without --url. `retry` and `release` work over HTTP.',
  })
}

/** In an address everything is text. */
function inAddress({ requires, ...query }: Record<string, any>): Record<string, string> {
  if (requires === undefined) return query
  const pairs = Object.entries(requires).map(([name, value]) => `${name}=${value}`)
  return { ...query, requires: pairs.join(',') }
}
