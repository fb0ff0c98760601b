/**
 * A place between two steps of an operation that come one after the other. Its name is the two steps, not a number: what another
 * part of the process asks in between moves no other gap.
 */
export interface Gap {
  /** Null: nothing has been asked yet. */
  before: string | null
  next: string
  /** The same two steps may follow each other several times: which of these times, from 1. */
  nth: number
}

/** The gap before the step with this number, from 1. */
export function gapOf(steps: readonly string[], number: number): Gap {
  const finder = new GapFinder()
  for (const step of steps.slice(0, number)) finder.next(step)
  return finder.gap!
}

/** Told of one step after the other. */
export class GapFinder {
  readonly #times = new Map<string, number>()
  #gap: Gap | undefined

  /** Before the last step that it was told of. */
  get gap(): Gap | undefined {
    return this.#gap
  }

  next(step: string): void {
    const before = this.#gap?.next ?? null
    const key = JSON.stringify([before, step])
    const nth = (this.#times.get(key) ?? 0) + 1
    this.#times.set(key, nth)
    this.#gap = { before, next: step, nth }
  }

  isAt(gap: Gap): boolean {
    return isSame(gap, this.#gap)
  }
}

function isSame(one: Gap, other: Gap | undefined): boolean {
  return one.next === other?.next && one.before === other.before && one.nth === other.nth
}
