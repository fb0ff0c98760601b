/** What an enqueue wants when another task holds its key. Without a wish, the holder stays as it is. */
export type WhenHeld =
  /** The waiting task gets the new input. */
  | { kind: 'replace' }
  /** The waiting task gets the new input, and waits anew; no longer than `maxWaitMs` in all. */
  | { kind: 'debounce'; ms: number; maxWaitMs: number | null }
  /** One task in this time, whatever becomes of it. */
  | { kind: 'throttle'; ms: number }

/** An unfinished task that holds a key. */
export interface KeyHolder {
  id: number
  /** A worker holds it, or it is suspended in the middle of its run: its input may have been read. */
  held: boolean
  createdAt: number
}

/** The tasks that have this key. */
export interface KeyHolders {
  active: KeyHolder | null
  /** Waits until the active task ends, and then takes over its key. No worker holds it. */
  follower: KeyHolder | null
  /** The one that took the key for ever; it may have finished. */
  forever: number | null
  /** The last one of a throttled key whose time is not over. */
  throttled: number | null
}

export type HeldDecision =
  | { do: 'insert' }
  /** It runs after the one that is running now, so that what came last is run last, and is run. */
  | { do: 'follow' }
  | { do: 'keep'; id: number }
  /** `runAt` null: when it runs stays as it is. */
  | { do: 'replace'; id: number; runAt: number | null }

export function decideHeld(wish: WhenHeld, holders: KeyHolders, now: number): HeldDecision {
  const { active, follower, forever, throttled } = holders
  if (wish.kind === 'throttle') {
    const holder = throttled ?? active?.id ?? follower?.id ?? forever
    return holder === null ? { do: 'insert' } : { do: 'keep', id: holder }
  }
  const waiting = follower ?? active
  if (waiting === null) return forever === null ? { do: 'insert' } : { do: 'keep', id: forever }
  // What it was given may have been read already: replacing it now could lose it.
  if (waiting.held) return { do: 'follow' }
  return { do: 'replace', id: waiting.id, runAt: runAt(wish, waiting, now) }
}

function runAt(wish: WhenHeld, { createdAt }: KeyHolder, now: number): number | null {
  if (wish.kind !== 'debounce') return null
  const later = now + wish.ms
  return wish.maxWaitMs === null ? later : Math.min(later, createdAt + wish.maxWaitMs)
}
