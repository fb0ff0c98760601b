import type * as awaitSignals from './await-signals.ts'
import type * as claimRows from './claim-rows.ts'
import type * as commitSteadily from './commit-steadily.ts'
import type * as drain from './drain.ts'
import type * as drainFirst from './drain-first.ts'
import type * as drainPruning from './drain-pruning.ts'
import type * as drainWatched from './drain-watched.ts'
import type * as durableDrain from './durable-drain.ts'
import type * as enqueue from './enqueue.ts'
import type * as holdSnapshot from './hold-snapshot.ts'
import type * as inspect from './inspect.ts'
import type * as seed from './seed.ts'
import type * as sendOneByOne from './send-one-by-one.ts'
import type * as sendSignals from './send-signals.ts'
import type * as sendSteadily from './send-steadily.ts'
import type * as workIdly from './work-idly.ts'
import type * as workSteadily from './work-steadily.ts'

/** What a child process can be asked to do. Each is a file beside this one, named like its key. */
export interface Roles {
  'await-signals': typeof awaitSignals.run
  'claim-rows': typeof claimRows.run
  'commit-steadily': typeof commitSteadily.run
  drain: typeof drain.run
  'drain-first': typeof drainFirst.run
  'drain-pruning': typeof drainPruning.run
  'drain-watched': typeof drainWatched.run
  'durable-drain': typeof durableDrain.run
  enqueue: typeof enqueue.run
  'hold-snapshot': typeof holdSnapshot.run
  inspect: typeof inspect.run
  seed: typeof seed.run
  'send-one-by-one': typeof sendOneByOne.run
  'send-signals': typeof sendSignals.run
  'send-steadily': typeof sendSteadily.run
  'work-idly': typeof workIdly.run
  'work-steadily': typeof workSteadily.run
}
export type RoleName = keyof Roles
export type RoleParams<R extends RoleName> = Parameters<Roles[R]>[0]
export type RoleResult<R extends RoleName> = Awaited<ReturnType<Roles[R]>>

/** The child's end of the line to the process that started it. */
export interface Parent {
  tell(event: string, value?: unknown): void
  /** The value of the next command of that name, also when it arrived before the question. */
  hear<T = undefined>(command: string): Promise<T>
}
