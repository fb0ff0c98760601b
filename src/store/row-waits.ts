/** What was seen to wait is what was written down. */
export function areSameWaits(seen: readonly string[], waits: ReadonlyMap<string, number>): boolean {
  return seen.length === waits.size && seen.every((name) => waits.has(name))
}
