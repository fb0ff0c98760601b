/** What a suspended item can wait for. */
export type WaitKind = 'signal' | 'children' | 'tasks' | 'turn'

/** One thing that a run waits for, by the step that waits: its name and number. */
export interface Wait {
  /** A signal, children, the tasks of `after`, or a turn among the children of one call. */
  kind: WaitKind
  /** The name of the step, which is that of the signal. */
  name: string
  /** From 1: a name that is used again is numbered. */
  number: number
  /** When it times out. Null: never. */
  until: number | null
}

/** A signal that no step has taken yet, as it is stored. */
export interface KeptSignal {
  name: string
  /** JSON. */
  payload: string | null
  /** Milliseconds since 1970. */
  sentAt: number
}

/** A wait as every reader sees it. */
export interface WaitRecord extends Wait {
  /** When the item was suspended. */
  since: number
}
