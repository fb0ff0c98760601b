/** Roles over HTTP: a viewer reads, an operator also makes changes, a worker only claims items and settles them. */
export const ROLES = ['viewer', 'operator', 'worker'] as const
/** What a caller may do: a viewer reads, an operator also changes, a worker only pulls work. */
export type Role = (typeof ROLES)[number]

/** A change that an operator requested. */
export interface NewAction {
  /** The kind of change, for example `tasks.cancel`. */
  action: string
  /** The task, queue, worker … that it concerns. Null: none in particular. */
  target: string | null
  /** The role of the caller. */
  role: Role
  /** The name of the user, from the server that the API is mounted in. Null: the server does not identify users. */
  user: string | null
  /** The network address of the request. */
  address: string | null
  /** Plain data, for example the filter of a bulk change. */
  details: unknown
}

/** A change that a person or a program made over HTTP. */
export interface ActionRecord extends NewAction {
  /** Identifies the entry. */
  id: string
  /** Milliseconds since 1970. */
  at: number
}
