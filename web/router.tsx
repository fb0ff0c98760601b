import { type AnchorHTMLAttributes, type MouseEvent, useCallback, useSyncExternalStore } from 'react'
import { BASE } from './api/place.ts'

/** Pages have addresses, and filters are part of them. */

export interface Place {
  /** Below where we are mounted, e.g. `/tasks/12`. */
  path: string
  search: URLSearchParams
}

const listeners = new Set<() => void>()
let here = read()

function read(): Place {
  const path = `/${location.pathname.slice(BASE.length).replace(/\/+$/, '')}`
  return { path, search: new URLSearchParams(location.search) }
}

function arrive(): void {
  here = read()
  for (const listener of listeners) listener()
}

addEventListener('popstate', arrive)

export function hrefOf(path: string): string {
  return BASE + path.replace(/^\//, '')
}

export function go(path: string, { replace = false }: { replace?: boolean } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', hrefOf(path))
  arrive()
  if (!replace) scrollTo(0, 0)
}

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, () => here)
}

/** Filters of this page; an empty value takes one away. */
export function useFilters(): [URLSearchParams, (changes: Record<string, string | null>) => void] {
  const { search } = usePlace()
  const set = useCallback((changes: Record<string, string | null>) => {
    const next = new URLSearchParams(here.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') next.delete(name)
      else next.set(name, value)
    }
    const query = next.toString()
    go(query === '' ? here.path : `${here.path}?${query}`, { replace: true })
  }, [])
  return [search, set]
}

export function Link({ to, ...rest }: { to: string } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    go(to)
  }
  return <a href={hrefOf(to)} onClick={onClick} {...rest} />
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
