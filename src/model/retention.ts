import { FINISHED_STATUSES, type FinishedStatus } from './task.ts'

/** How long finished tasks of one status are kept. Null: this sets no limit. */
export interface Keep {
  /** Since they finished. */
  ageMs: number | null
  /** The newest so many of each queue. */
  count: number | null
}

/** What is past either limit may go. */
export type Retention = Readonly<Record<FinishedStatus, Keep>>

/** The statuses of which anything may ever go, with their limits. */
export function limitsOf(retention: Retention): { status: FinishedStatus; keep: Keep }[] {
  return FINISHED_STATUSES.map((status) => ({ status, keep: retention[status] })).filter(
    ({ keep }) => keep.ageMs !== null || keep.count !== null,
  )
}

/** What the next step should be, after one that took so long. */
export type StepSize = 'larger' | 'same' | 'smaller'

export function sizeAfter(workMs: number, goalMs: number): StepSize {
  if (workMs > 2 * goalMs) return 'smaller'
  return workMs < goalMs / 2 ? 'larger' : 'same'
}
