import { StoreError } from '../errors.ts'
import { isProvedDead, type ProcessIdentity } from '../process-identity.ts'

/** A database that a newer Gleaner has used is not ours to touch. */
export function refuseNewer(version: number, latest: number): void {
  if (version <= latest) return
  throw new StoreError(`the database is at version ${version}, this Gleaner knows versions up to ${latest}`, {
    code: 'STORE_NEWER',
    hint:
      'A newer Gleaner has used it. Update this package to the same version; workers that already ran ' +
      'when it was updated should be stopped and started with the new one.',
  })
}

/** A worker that was not renewed for that long does not hold a migration up: no other process may be left to end its session. */
export const UNRENEWED_MAX_MS = 5 * 60_000

/** Workers of the old version go on writing the old way: they must be gone before the tables change. */
export function refuseWhileOthersWork(
  sessions: readonly (ProcessIdentity & { worker: string })[],
  { version, latest, remote }: { version: number; latest: number; remote: boolean },
): void {
  const alive = sessions.filter((session) => !isProvedDead(session, { remote }))
  if (alive.length === 0) return
  const who = alive.map((session) => `${session.worker} (pid ${session.pid} on ${session.host})`).join(', ')
  throw new StoreError(
    `the database must go from version ${version} to ${latest}, but older workers still run: ${who}`,
    {
      code: 'STORE_MIGRATION',
      hint: 'Stop them, then start the new version; nothing was changed. If a machine is gone, start it 5 minutes after its end.',
    },
  )
}
