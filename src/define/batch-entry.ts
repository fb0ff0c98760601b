import type { EnqueueOptions, Task } from './types.ts'

/** One task of a batch. */
export type BatchEntry = readonly [task: Task, input?: unknown, options?: BatchEntryOptions]
/** How one task of a batch runs. */
export type BatchEntryOptions = Omit<
  EnqueueOptions,
  'after' | 'onFailure' | 'whenHeld' | 'debounce' | 'maxWait' | 'throttle'
>
