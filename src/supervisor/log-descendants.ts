import { type Descendant, listed } from '../process/descendants.ts'
import type { Child } from './child.ts'
import type { Logger } from './logger.ts'

/** What became of the processes that a worker had started, and that left its process group. */
export function logDescendants(
  logger: Logger,
  { assignment: { worker }, pid }: Child,
  { killed, left }: { killed: readonly Descendant[]; left: readonly Descendant[] },
): void {
  const pids = (some: readonly Descendant[]) => some.map((one) => one.pid)
  if (killed.length > 0)
    logger.warn(
      { worker, pid, killed: pids(killed) },
      `killed the processes that it had started: ${listed(killed)}`,
    )
  if (left.length > 0)
    logger.warn({ worker, pid, left: pids(left) }, `processes that it had started still run: ${listed(left)}`)
}
