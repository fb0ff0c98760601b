import type { MessagePort } from 'node:worker_threads'
import { openRenewer } from '../../store/by-url/renewer.ts'
import type { RenewalPlan } from '../../store/ports/renewal.ts'
import { messageOf } from '../../thrown.ts'

export type ToKeeper =
  | { hold: string }
  | { release: string }
  /** Its worker cannot reach the store, or can again. */
  | { cutOff: string }
  | { reached: string }
  | { close: true }
export type FromKeeper = { lost: string } | { failed: string }

export interface Renewing {
  plan: RenewalPlan
  leaseMs: number
}

/** A lease is renewed three times before it runs out. */
const RENEWALS_PER_LEASE = 3
/** A renewal that failed is tried again soon: other processes may be able to renew, and then the lease runs out. */
const RETRIES_PER_RENEWAL = 10

/** In the keeper's thread: renews the sessions that it is told to hold, until it is told to close. */
export function keepRenewing(port: MessagePort, { plan, leaseMs }: Renewing): void {
  // At once: it takes a moment, and the first lease may be short.
  const opening = openRenewer(plan, leaseMs)
  opening.catch(() => {})
  const sessions = new Set<string>()
  /** A worker that cannot reach the store cannot work: after a lease, others may have what it holds. */
  const cutOff = new Set<string>()
  const everyMs = Math.max(1, Math.floor(leaseMs / RENEWALS_PER_LEASE))
  let retry: NodeJS.Timeout | undefined
  let isRenewing = false

  async function renew(): Promise<void> {
    const asked = [...sessions].filter((session) => !cutOff.has(session))
    if (asked.length === 0) return
    const renewer = await opening
    const alive = new Set(await renewer.renew(asked))
    for (const session of asked) {
      if (alive.has(session) || !sessions.delete(session)) continue
      port.postMessage({ lost: session } satisfies FromKeeper)
    }
  }

  async function renewInTime({ isRetry = false } = {}): Promise<void> {
    clearTimeout(retry)
    if (isRenewing) return
    isRenewing = true
    try {
      // It took a while to find out that a connection is dead: on a new one there may still be time.
      await renew().catch((error) => (isAway(error) ? renew() : Promise.reject(error)))
    } catch (error) {
      if (!isRetry) port.postMessage({ failed: messageOf(error) } satisfies FromKeeper)
      retry = setTimeout(() => void renewInTime({ isRetry: true }), everyMs / RETRIES_PER_RENEWAL)
    }
    isRenewing = false
  }

  const timer = setInterval(() => void renewInTime(), everyMs)

  const close = () => {
    clearInterval(timer)
    clearTimeout(retry)
    sessions.clear()
    port.close()
    void opening.then((renewer) => renewer.close()).catch(() => {})
  }
  port.on('message', (message: ToKeeper) => {
    if ('close' in message) close()
    else follow(message, sessions, cutOff)
  })
}

function follow(message: ToKeeper, sessions: Set<string>, cutOff: Set<string>): void {
  if ('hold' in message) sessions.add(message.hold)
  else if ('cutOff' in message) cutOff.add(message.cutOff)
  else if ('reached' in message) cutOff.delete(message.reached)
  else if ('release' in message) {
    sessions.delete(message.release)
    cutOff.delete(message.release)
  }
}

function isAway(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'STORE_AWAY'
}
