import type { Clock } from '../../clock.ts'
import type { Attempt } from '../attempt.ts'
import type { HeldItem } from './snapshot.ts'

/** What is under way, the oldest first. */
export function currentItems(runs: Iterable<Attempt>, clock: Clock): HeldItem[] {
  const leadMs = clock.now() - clock.monotonicMs()
  return [...runs]
    .sort((a, b) => a.startedAt - b.startedAt || a.claim.fence - b.claim.fence)
    .map(({ claim, item, startedAt, deadlineMs }) => ({
      item,
      fence: claim.fence,
      since: startedAt,
      deadline: Number.isFinite(deadlineMs) ? Math.round(leadMs + deadlineMs) : null,
    }))
}
