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
  | { kind: 'elsewhere'; only?: 'ended' }
