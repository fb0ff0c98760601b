import { parentPort, workerData } from 'node:worker_threads'
import type { RenewalPlan } from '../store/contract.ts'
import { openRenewer } from '../store/renewer.ts'
import type { FromKeeper, ToKeeper } from './keeper.ts'

/** The keeper's thread: renews the sessions of its process, also while the event loop of the process is blocked. */
const { plan, everyMs } = workerData as { plan: RenewalPlan; everyMs: number }
const port = parentPort!
const opening = openRenewer(plan)
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
  else {
    clearInterval(timer)
    port.close()
    void opening.then((renewer) => renewer.close())
  }
})
