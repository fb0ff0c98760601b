/** What a store tells those who listen. */
export type Change =
  /** Something may be claimable. */
  | { kind: 'work' }
  /** Something that recurs was planned anew. */
  | { kind: 'schedules' }
  /** A worker is asked to stop a run. */
  | { kind: 'cancel' }
  | { kind: 'ended'; ids: readonly string[] }
  /** Another connection, perhaps of another process, wrote something. */
  | { kind: 'elsewhere'; only?: 'work' | 'cancel' | 'schedules' | 'ended'; task?: TaskChange }

/**
 * What a listener wants to hear of other processes. `signals`: what a store says that it brought. `commits`: every commit to the database,
 * because programs that are no stores write what it waits for. A listener that says neither also waits for the ends of tasks.
 */
export type Hears = 'signals' | 'commits'

/**
 * Another process enqueued tasks of this name, and nothing else. `turn`: whether workers of this process are to take them now, leave them
 * to others, or look late whether the others did.
 */
export interface TaskChange {
  queue: string
  name: string
  turn: 'ours' | 'others' | 'late'
}

/** Called with a change. True: a worker that takes what it is told of. */
export type Listener = (change: Change) => unknown

/** How a process hears of what others changed. */
export interface Changes {
  /** Called after a commit that others may care about, here or in another process. Losing one costs latency only. */
  onChange(listener: Listener, hears?: Hears): () => void
}
