import type { Change } from '../ports/change.ts'
import type { Effects } from '../ports/exchange.ts'
import type { Dialect } from './dialect.ts'
import type { Script } from './script.ts'

/** How a store runs scripts. Each is asked for anew when its transaction starts again. */
export interface Scripts {
  readonly db: Dialect
  /** Without a lock: each statement may see a later state than the one before it. */
  read<Answer>(script: () => Script<Answer>): Promise<Answer>
  /** In one transaction. Its commit is on disk before the answer. */
  write<Answer>(script: () => Script<Answer>): Promise<Answer>
  /** In one transaction whose loss in a power cut does no harm. */
  writeCheaply<Answer>(script: () => Script<Answer>): Promise<Answer>
  /** The same for a short step of maintenance: its statements find rows by an index, whatever the planner believes. */
  writeStep<Answer>(script: () => Script<Answer>): Promise<Answer>
  /** The same as `write`, and the script can run effects of the user's in its transaction. */
  writeWithEffects<Answer>(
    script: (run: (effects: Effects) => Script<unknown>) => Script<Answer>,
  ): Promise<Answer>
  /** Tells listeners in this process and in others, after the commit: a failed wake-up must not undo the change. */
  tell(change: Change): void
}
