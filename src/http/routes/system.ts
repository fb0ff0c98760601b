import { hostname } from 'node:os'
import { DATABASE, ROWS } from '../../model/metrics.ts'
import { version } from '../protocol/version.ts'
import type { System } from '../wire/types.ts'
import type { RouteServices } from './route.ts'

export async function systemOf({ inside, hub, startedAt }: RouteServices): Promise<System> {
  const { store, durability, retention } = inside
  const { databaseBytes, walBytes } = await store.maintenance.sizes()
  return {
    server: {
      version,
      node: process.versions.node,
      host: hostname(),
      pid: process.pid,
      startedAt,
      listeners: hub.clients,
    },
    database: {
      kind: store.remote ? 'postgres' : 'sqlite',
      bytes: databaseBytes,
      walBytes,
      durability,
      migrations: await store.maintenance.migrations(),
    },
    backups: await store.maintenance.backups(),
    retention,
    supervisors: await supervisorsOf(store),
    totals: await totalsOf(store),
  }
}

async function supervisorsOf(store: RouteServices['inside']['store']): Promise<System['supervisors']> {
  const rows = await store.sessions.supervisors()
  return rows.map(({ name, term, process: { host, pid }, since, unseenMs, left, workers }) => ({
    name,
    term,
    host,
    pid,
    since,
    unseenMs,
    left,
    workers: (JSON.parse(workers) as unknown[]).length,
  }))
}

/** Of all processes, since the database was made. */
async function totalsOf(store: RouteServices['inside']['store']): Promise<System['totals']> {
  const totals = { enqueued: 0, completed: 0, failed: 0, retried: 0, rowsDone: 0 }
  const incidents: Record<string, number> = {}
  for (const one of await store.admin.readTotals()) {
    if (one.queue === DATABASE) continue
    if (one.queue === ROWS) totals.rowsDone += one.completed
    else for (const counter of COUNTERS) totals[counter] += one[counter]
    for (const [kind, count] of one.incidents ?? []) incidents[kind] = (incidents[kind] ?? 0) + count
  }
  return { ...totals, incidents }
}

const COUNTERS = ['enqueued', 'completed', 'failed', 'retried'] as const
