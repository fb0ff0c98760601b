import { useCallback, useEffect, useState } from 'react'
import { useLive } from '../api/live.ts'

interface Steady<T> {
  items: T[]
  held: boolean
  /** What came or went meanwhile. */
  fresh: number
  /** Somebody points at it, or not any more. */
  hold(held: boolean): void
  catchUp(): void
}

/**
 * A list that does not move under the pointer: while somebody points at it, or has chosen something, entries change where they
 * stand, and those that came or went wait.
 */
export function useSteadyList<T extends { id: string }>(
  latest: T[],
  isBusy: boolean,
  place: string,
): Steady<T> {
  const [pointed, setPointed] = useState(false)
  const [kept, setKept] = useState<{ place: string; items: T[] } | null>(null)
  const isHeld = (pointed || isBusy) && kept !== null && kept.place === place && kept.items.length > 0
  // Whoever did something wants to see what came of it.
  const acts = useLive((live) => live.acts)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each act is a reason
  useEffect(() => setPointed(false), [acts])
  const hold = useCallback((held: boolean) => setPointed(held), [])
  const catchUp = useCallback(() => setKept(null), [])
  if ((pointed || isBusy) && !isHeld && latest.length > 0) setKept({ place, items: latest })
  if (!(pointed || isBusy) && kept !== null) setKept(null)
  if (!isHeld) return { items: latest, held: false, fresh: 0, hold, catchUp }
  const now = new Map(latest.map((item) => [item.id, item]))
  const before = new Set(kept.items.map(({ id }) => id))
  const fresh =
    latest.filter(({ id }) => !before.has(id)).length + kept.items.filter(({ id }) => !now.has(id)).length
  return { items: kept.items.map((item) => now.get(item.id) ?? item), held: true, fresh, hold, catchUp }
}
