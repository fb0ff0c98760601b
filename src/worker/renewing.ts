import type { MessagePort } from 'node:worker_threads'
import type { RenewalPlan } from '../store/contract.ts'
import { openRenewer } from '../store/renewer.ts'

export type ToKeeper = { hold: string } | { release: string } | { close: true }
export type FromKeeper = { lost: string } | { failed: string }

export interface Renewing {
  plan: RenewalPlan
  everyMs: number
}

/** In the keeper's thread: renews the sessions that it is told to hold, until it is told to close. */
export function keepRenewing(port: MessagePort, { plan, everyMs }: Renewing): void {
  // At once: it takes a moment, and the first lease may be short.
  const opening = openRenewer(plan)
  opening.catch(() => {})
  const sessions = new Set<string>()

  async function renew(): Promise<void> {
    if (sessions.size === 0) return
    const asked = [...sessions]
    const renewer = await opening
    const alive = new Set(await renewer.renew(asked))
    for (const session of asked) {
      if (alive.has(session) || !sessions.delete(session)) continue
      port.postMessage({ lost: session } satisfies FromKeeper)
    }
  }

  const timer = setInterval(() => {
    // A database that is away for a moment is tried again at the next turn; a lease lasts for several.
    renew().catch((error) => port.postMessage({ failed: String(error) } satisfies FromKeeper))
  }, everyMs)

  port.on('message', (message: ToKeeper) => {
    if ('hold' in message) sessions.add(message.hold)
    else if ('release' in message) sessions.delete(message.release)
    else if ('close' in message) {
      clearInterval(timer)
      port.close()
      void opening.then((renewer) => renewer.close()).catch(() => {})
    }
  })
}
