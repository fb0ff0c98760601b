/** Which part of a list is asked for. */
export interface PageRequest {
  limit: number
  /** The `next` of the page before; null for the first. */
  cursor: string | null
}
