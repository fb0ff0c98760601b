import { useCallback, useEffect, useRef, useState } from 'react'
import { type ApiError, ask } from './client.ts'
import { useLive } from './live.ts'

export interface Query<T> {
  /** What was read last; also while it is read again. */
  data: T | null
  /** When it was asked for. */
  at: number
  error: ApiError | null
  refetch(): void
}

interface Answer<T> {
  path: string | null
  data: T | null
  at: number
  error: ApiError | null
}

/** What was read on other pages: coming back shows it at once. */
const remembered = new Map<string, unknown>()
const REMEMBERED_MAX = 50

/** Reads, and reads again when something has changed. A null path reads nothing. */
export function useQuery<T>(path: string | null, { live = true }: { live?: boolean } = {}): Query<T> {
  const revision = useLive((state) => (live ? state.revision : 0))
  const [asked, setAsked] = useState(0)
  const [answer, setAnswer] = useState<Answer<T>>({ path, data: recall<T>(path), at: 0, error: null })
  const reading = useRef<{ path: string; again: boolean } | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: a revision, or being asked, is a reason to read again
  useEffect(() => {
    if (path === null) return
    // One at a time: a slow server is not asked faster than it answers.
    if (reading.current?.path === path) {
      reading.current.again = true
      return
    }
    const mine = { path, again: false }
    reading.current = mine
    const read = (): Promise<void> => {
      const at = performance.now()
      return ask<T>(path)
        .then(
          (data) => {
            remember(path, data)
            if (reading.current === mine) setAnswer({ path, data, at, error: null })
          },
          (error: ApiError) => {
            if (reading.current !== mine) return
            setAnswer((before) => ({
              path,
              data: before.path === path ? before.data : recall<T>(path),
              at: before.path === path ? before.at : 0,
              error,
            }))
          },
        )
        .then(() => {
          if (reading.current !== mine) return
          if (!mine.again) {
            reading.current = null
            return
          }
          mine.again = false
          return read()
        })
    }
    void read()
  }, [path, revision, asked])

  const refetch = useCallback(() => setAsked((n) => n + 1), [])
  const isCurrent = answer.path === path
  return {
    data: isCurrent ? answer.data : recall<T>(path),
    at: isCurrent ? answer.at : 0,
    error: isCurrent ? answer.error : null,
    refetch,
  }
}

function recall<T>(path: string | null): T | null {
  return path === null ? null : ((remembered.get(path) as T | undefined) ?? null)
}

function remember(path: string, data: unknown): void {
  remembered.delete(path)
  remembered.set(path, data)
  if (remembered.size > REMEMBERED_MAX) remembered.delete(remembered.keys().next().value!)
}
