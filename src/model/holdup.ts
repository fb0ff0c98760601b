/** A resource that a live worker waits for, and what it does not claim meanwhile. */
export interface Holdup {
  resource: string
  reason: string
  /** When it is looked for again. */
  until: number
  /** The names of tasks and discoveries. */
  holds: readonly string[]
}
