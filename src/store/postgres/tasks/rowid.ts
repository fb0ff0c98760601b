/** Ids are opaque strings to all callers. A text that is no id of ours names no task. */
export function rowid(id: string): string {
  return /^[1-9]\d{0,14}$/.test(id) ? id : '0'
}
