import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import type { Store } from '../store/contract.ts'
import type { Exchanges } from './exchange.ts'
import type { InFlight } from './in-flight.ts'
import type { Sources } from './sources/sources.ts'

/** A server that crashed is back, or its standby promoted, within seconds. Otherwise what the worker held waits for its lease. */
const AWAY_MS = 5_000
const AGAIN_MS = 200

interface Leaving {
  session: string
  store: Store
  clock: Clock
  inFlight: InFlight
  sources: Sources
  exchanges: Exchanges
}

/** The last news, then the end of the session, which gives back whatever is left. If the store is away, it tries for a while. */
export async function leave(worker: Leaving): Promise<void> {
  const { clock, inFlight, sources } = worker
  const holdsSomething = inFlight.running > 0 || sources.haveUnsent
  const givesUpAtMs = clock.monotonicMs() + (holdsSomething ? AWAY_MS : 0)
  for (;;) {
    try {
      return await endSession(worker)
    } catch (error) {
      const isAway = error instanceof StoreError && error.code === 'STORE_AWAY'
      if (!isAway || clock.monotonicMs() >= givesUpAtMs) throw error
    }
    await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
  }
}

async function endSession({ session, store, sources, exchanges }: Leaving): Promise<void> {
  try {
    for (const source of sources) if (!source.outbox.isEmpty) await exchanges.make(source, session, null)
    await store.endSession(session, 'stop')
  } catch (error) {
    exchanges.failed()
    throw error
  }
}
