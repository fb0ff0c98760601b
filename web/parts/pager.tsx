import { type ReactNode, useState } from 'react'

/** Where somebody is in a listing: behind the cursors of all pages before. */
export interface Pages {
  cursor: string | undefined
  turn(to: { back: true } | { on: string }): void
  isFirst: boolean
}

/** Another `place` (other filters) begins anew. */
export function usePages(place = ''): Pages {
  const [trail, setTrail] = useState<{ place: string; cursors: readonly string[] }>({ place, cursors: [] })
  const cursors = trail.place === place ? trail.cursors : []
  return {
    cursor: cursors.at(-1),
    turn: (to) => setTrail({ place, cursors: 'on' in to ? [...cursors, to.on] : cursors.slice(0, -1) }),
    isFirst: cursors.length === 0,
  }
}

interface PagerProps {
  pages: Pages
  /** The cursor of the page after this one. */
  next: string | null
  /** What lies before and after: by time it is newer and older. */
  words?: readonly [before: string, after: string]
  /** What stands beside: then the foot is there on a single page, too. */
  children?: ReactNode
}

export function Pager({ pages, next, words = ['Newer', 'Older'], children }: PagerProps) {
  const [before, after] = words
  if (children === undefined && pages.isFirst && next === null) return null
  return (
    <footer className="table-foot">
      <span className="muted" aria-live="polite">
        {children}
      </span>
      <span className="pager">
        <button
          type="button"
          className="button"
          data-small
          disabled={pages.isFirst}
          onClick={() => pages.turn({ back: true })}
        >
          {before}
        </button>
        <button
          type="button"
          className="button"
          data-small
          disabled={next === null}
          onClick={() => next !== null && pages.turn({ on: next })}
        >
          {after}
        </button>
      </span>
    </footer>
  )
}
