import { FINISHED_STATUSES, type FinishedStatus, isFinished, type TaskStatus } from '../model/task.ts'
import { followerKey } from './follower.ts'
import type { TaskFilter } from './ports/tasks.ts'
import { storedKey } from './task-row.ts'

/** The order in which a listing goes: each has an index of its own. */
export type FilterRoute =
  | { by: 'newest' }
  | { by: 'key'; status: TaskStatus }
  | { by: 'finished'; statuses: readonly FinishedStatus[] }
  | { by: 'scheduled' }
  | { by: 'running' }
  | { by: 'queued' }
  | { by: 'suspended' }
  | { by: 'parent'; parent: string; status: TaskStatus | null }

export function filterRouteOf(filter: TaskFilter): FilterRoute {
  const { status, parent } = filter
  if (parent !== undefined) return { by: 'parent', parent, status: status ?? null }
  if (status === undefined) {
    return hasFinishedTime(filter) ? { by: 'finished', statuses: FINISHED_STATUSES } : { by: 'newest' }
  }
  if (isFinished(status)) return { by: 'finished', statuses: [status] }
  return filter.key === undefined ? { by: status } : { by: 'key', status }
}

/** Whether rows on the route may not fit, so that a page has to look at more than it shows. */
export function isSelective(filter: TaskFilter, { by }: FilterRoute): boolean {
  const acrossLanes = by === 'newest' || by === 'scheduled' || by === 'suspended' || by === 'parent'
  return (
    filter.key !== undefined ||
    filter.error !== undefined ||
    filter.createdAfter !== undefined ||
    filter.createdBefore !== undefined ||
    filter.startedBefore !== undefined ||
    filter.runningLongerThanMs !== undefined ||
    (acrossLanes && [filter.queue, filter.name, filter.requires].some((one) => one !== undefined))
  )
}

function hasFinishedTime({ finishedAfter, finishedBefore }: TaskFilter): boolean {
  return finishedAfter !== undefined || finishedBefore !== undefined
}

/** From `from` on, and before `to`. */
export function finishedRange({ finishedAfter, finishedBefore }: TaskFilter): { from: number; to: number } {
  return { from: finishedAfter ?? 0, to: finishedBefore ?? Number.MAX_SAFE_INTEGER }
}

export function createdRange({ createdAfter, createdBefore }: TaskFilter): { from: number; to: number } {
  return { from: createdAfter ?? 0, to: createdBefore ?? Number.MAX_SAFE_INTEGER }
}

/** Only what started before this. Null: whether and when it started does not matter. */
export function startedBefore(filter: TaskFilter, now: number): number | null {
  const { startedBefore, runningLongerThanMs } = filter
  if (startedBefore === undefined && runningLongerThanMs === undefined) return null
  const since = runningLongerThanMs === undefined ? Number.MAX_SAFE_INTEGER : now - runningLongerThanMs
  return Math.min(startedBefore ?? Number.MAX_SAFE_INTEGER, since)
}

/** The key as it is stored, for each task name it may belong to. Null: any key, or none. */
export function storedKeys({ key }: TaskFilter, lanes: readonly { name: string }[]): string[] | null {
  if (key === undefined) return null
  const keys = [...new Set(lanes.map(({ name }) => storedKey({ name, key })!))]
  return [...keys, ...keys.map(followerKey)]
}

/**
 * What the stored error (JSON) must hold, in small letters, if its message is to have the text. It may be found elsewhere in
 * it, so this only sorts out; `hasText` decides.
 */
export function errorNeedle({ error }: TaskFilter): string | null {
  return error === undefined ? null : smallLetters(JSON.stringify(error).slice(1, -1))
}

export function hasText(storedError: string | null, { error }: TaskFilter): boolean {
  if (error === undefined) return true
  if (storedError === null) return false
  const { message } = JSON.parse(storedError) as { message: string }
  return smallLetters(message).includes(smallLetters(error))
}

/** As both databases do it: the letters of ASCII alone. */
function smallLetters(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
