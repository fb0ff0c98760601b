import type { Requires } from '../model/task.ts'
import type { LaneFilter } from './ports/tasks.ts'

/** Tasks of one name in one queue with the same requirements. */
export interface Lane {
  id: number
  queue: string
  name: string
  requires: Requires | null
  /** What it shares with other lanes of its queue: their tasks in one order. Null: a claim reads the lane by itself. */
  line: number | null
}

/** The first lanes of a queue have no line: reading so few one after the other costs less than a second index. */
export const OWN_LINES_MAX = 8

/** The same requirements in the same words, so that they share a lane. */
export function requirementWords(requires: Requires | null): string {
  if (requires === null) return ''
  return JSON.stringify(Object.fromEntries(Object.entries(requires).sort(([a], [b]) => (a < b ? -1 : 1))))
}

export function readRequirement(words: string): Requires | null {
  return words === '' ? null : (JSON.parse(words) as Requires)
}

export function isMatch(lane: Pick<Lane, 'queue' | 'name' | 'requires'>, filter: LaneFilter): boolean {
  return (
    (filter.queue === undefined || lane.queue === filter.queue) &&
    (filter.name === undefined || lane.name === filter.name) &&
    (filter.requires === undefined || hasAll(lane.requires, filter.requires))
  )
}

/** In addresses and in a terminal, everything is text. */
function hasAll(requires: Requires | null, asked: Requires): boolean {
  return Object.entries(asked).every(([name, value]) => {
    return requires !== null && Object.hasOwn(requires, name) && String(requires[name]) === String(value)
  })
}
