import { useSyncExternalStore } from 'react'
import type { Info } from '../../src/http/wire.ts'

/** Who we are to the server. The token lives as long as the tab. */

const KEY = 'gleaner.token'

export interface Session {
  /** Null: not asked yet, or refused. */
  info: (Info & { /** What the server's clock is ahead of ours, in ms. */ ahead: number }) | null
  /** The server wants to know who we are. */
  refused: boolean
  /** That a token was tried, and not known. */
  wrongToken: boolean
}

let session: Session = { info: null, refused: false, wrongToken: false }
const listeners = new Set<() => void>()

export function token(): string | null {
  return sessionStorage.getItem(KEY)
}

export function setToken(value: string | null): void {
  if (value === null) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, value)
}

export function setSession(next: Partial<Session>): void {
  session = { ...session, ...next }
  for (const listener of listeners) listener()
}

export function useSession(): Session {
  return useSyncExternalStore(subscribe, () => session)
}

/** Viewers see no actions. */
export function useMayAct(): boolean {
  return useSession().info?.role === 'operator'
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
