import type { Capabilities } from '../model/capabilities.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { CrashIsolation } from './isolation/crash-isolation.ts'
import type { Keeper } from './keeper/keeper.ts'
import type { PollTimings } from './prefetch/policy.ts'
import type { EngineServices } from './services.ts'
import type { Source } from './sources/source.ts'

export interface WorkerOptions {
  id: string
  capabilities: Capabilities
  sources: readonly Source[]
  concurrency: number
  resourceErrorLimit: number
  payloadLimit: number
  /** `graceMs`: between an abort and giving up on the handler. */
  timings: PollTimings & { graceMs: number }
  /** The process that looks after this one. */
  supervisor?: ProcessIdentity
  /** It begins with a pause. */
  paused?: boolean
}

export interface WorkerServices extends EngineServices {
  keeper: Keeper
  isolation: CrashIsolation
}
