/** Roles over HTTP: a viewer reads, an operator also makes changes. */
export const ROLES = ['viewer', 'operator'] as const
export type Role = (typeof ROLES)[number]

/** A change that an operator requested. */
export interface NewAction {
  /** The kind of change, for example `tasks.cancel`. */
  action: string
  /** The task, queue, worker … that it concerns. Null: none in particular. */
  target: string | null
  role: Role
  /** The name of the user, from the server that the API is mounted in. Null: the server does not identify users. */
  user: string | null
  /** The network address of the request. */
  address: string | null
  /** Plain data, for example the filter of a bulk change. */
  details: unknown
}

export interface ActionRecord extends NewAction {
  id: string
  at: number
}
