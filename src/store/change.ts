/** What a store tells those who listen. */
export type Change =
  /** Something may be claimable. */
  | { kind: 'work' }
  /** Something that recurs was planned anew. */
  | { kind: 'schedules' }
  /** Somebody is asked to stop what he runs. */
  | { kind: 'cancel' }
  | { kind: 'ended'; ids: readonly string[] }
  /** Another connection, perhaps of another process, wrote something. */
  | { kind: 'elsewhere'; only?: 'work' | 'cancel' | 'schedules' | 'ended' }

/**
 * What a listener wants to hear of other processes. `signals`: what a store says that it brought. `commits`: every commit to the database,
 * because programs that are no stores write what it waits for.
 */
export type Hears = 'signals' | 'commits'
