import { useSyncExternalStore } from 'react'
import type { Info } from '../../src/http/wire.ts'

/** Who we are to the server. A cookie that scripts cannot read says it, in all tabs. */

export interface Session {
  /** Null: not asked yet, or refused. */
  info: (Info & { /** What the server's clock is ahead of ours, in ms. */ ahead: number }) | null
  /** The server wants to know who we are. */
  refused: boolean
}

let session: Session = { info: null, refused: false }
const listeners = new Set<() => void>()

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
