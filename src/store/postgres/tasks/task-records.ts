import type { TaskRow } from '../../task-row.ts'

/** With the name of the worker that holds or held it. */
export type FullRow = TaskRow & { worker: string | null }

export const WORKER = '(SELECT worker FROM gleaner.sessions s WHERE s.id = t.session) AS worker'

export const FULL = `t.*, ${WORKER}`

/** Ids are opaque strings to everybody else; what is none of ours names no task. */
export function rowid(id: string): string {
  return /^[1-9]\d{0,14}$/.test(id) ? id : '0'
}
