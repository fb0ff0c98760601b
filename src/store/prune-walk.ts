/** Lanes that one step looks into: there is one for each key of a limit, so there may be many. */
export const LANES_PER_STEP = 500

/**
 * Where the next step goes on: the lanes are walked by their ids, a page at a time. 0: the walk is over. `unfinished` is a
 * lane that may have more than the step could take.
 */
export function laneToGoOnAfter(lanes: readonly { id: number }[], unfinished: number | null): number {
  if (unfinished !== null) return unfinished - 1
  return lanes.length < LANES_PER_STEP ? 0 : lanes.at(-1)!.id
}
