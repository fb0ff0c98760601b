/** Who may do what over HTTP: a viewer looks, an operator also changes. */
export const ROLES = ['viewer', 'operator'] as const
export type Role = (typeof ROLES)[number]

/** Something an operator asked for. */
export interface NewAction {
  /** What: `tasks.cancel`. */
  action: string
  /** Of which task, queue, worker …; null: of none in particular. */
  target: string | null
  role: Role
  /** As the server that the API is part of calls him; null: it does not tell people apart. */
  user: string | null
  /** The address it came from. */
  address: string | null
  /** Plain data: the filter of a bulk change, for instance. */
  details: unknown
}

export interface ActionRecord extends NewAction {
  id: string
  at: number
}
