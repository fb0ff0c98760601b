import type { Worker } from '../../src/http/wire/types.ts'

/** Without those that stopped with their supervisor and whose place another one has taken. */
export function presentOf(workers: readonly Worker[]): Worker[] {
  const taken = new Set(workers.filter(({ status }) => status !== 'stopped').map(({ id }) => id))
  return workers.filter(({ id, status }) => status !== 'stopped' || !taken.has(id))
}

/** Supervisors on several hosts may name their workers alike: what was seen is of those that this server stands beside. */
export function isOurs(worker: Worker, present: readonly Worker[], host: string | undefined): boolean {
  return worker.host === host || present.filter(({ id }) => id === worker.id).length === 1
}
