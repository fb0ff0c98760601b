import { useSyncExternalStore } from 'react'
import type { Info } from '../../src/http/wire/types.ts'
import { API } from './place.ts'

/**
 * Who we are to the server, in all tabs: a cookie that scripts cannot read, and a key. Browsers send the cookie to every port of the
 * host. Only pages of our own port can read the key.
 */

export interface Session {
  /** Null: not asked yet, or refused. */
  info: (Info & { /** What the server's clock is ahead of ours, in ms. */ ahead: number }) | null
  /** The server wants to know who we are. */
  refused: boolean
  /** Why the token of the address did not sign us in. */
  problem: string | null
}

let session: Session = { info: null, refused: false, problem: null }
const listeners = new Set<() => void>()

export function setSession(next: Partial<Session>): void {
  session = { ...session, ...next }
  for (const listener of listeners) listener()
}

export function useSession(): Session {
  return useSyncExternalStore(subscribe, () => session)
}

const KEY = `gleaner-key ${API}`

export function keyOfSession(): string | null {
  return localStorage.getItem(KEY)
}

/** Null: signed out. */
export function keepKey(key: string | null): void {
  if (key === null) localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, key)
}

/** Viewers see no actions. */
export function useMayAct(): boolean {
  return useSession().info?.role === 'operator'
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
