import type { Clock } from '../clock.ts'
import { isProvedDead, type ProcessIdentity } from '../process-identity.ts'
import type { LiveSession } from '../store/ports/sessions.ts'
import type { Store } from '../store/ports/store.ts'

const LOOK_MS = 100

/** Workers whose supervisor is dead, and who still finish what they have in their hands: by worker. */
export function orphansAmong(
  sessions: readonly LiveSession[],
  store: Pick<Store, 'remote'>,
): Map<string, ProcessIdentity> {
  const orphans = sessions.filter(
    ({ process, supervisor }) =>
      supervisor !== null && isProvedDead(supervisor, store) && !isProvedDead(process, store),
  )
  return new Map(orphans.map(({ worker, process }) => [worker, process]))
}

/** Two processes must not be the same worker at the same time. */
export async function isGone(
  orphan: ProcessIdentity,
  store: Pick<Store, 'remote'>,
  clock: Clock,
  stopped: () => boolean,
): Promise<void> {
  while (!stopped() && !isProvedDead(orphan, store))
    await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve))
}
