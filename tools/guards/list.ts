import { ACCESS } from './access.ts'
import { BATCHES } from './batches.ts'
import { CLAIMS } from './claims.ts'
import { CRASHES } from './crashes.ts'
import { DISCOVERY } from './discovery.ts'
import { DURABILITY } from './durability.ts'
import { EFFECTS } from './effects.ts'
import { FLOWS } from './flows.ts'
import type { Guard } from './guard.ts'
import { LIMITS } from './limits.ts'
import { LOCK_USE } from './lock-use.ts'
import { MAINTENANCE } from './maintenance.ts'
import { ORDER_KEYS } from './order-keys.ts'
import { RECENT } from './recent.ts'
import { SIGNALS } from './signals.ts'
import { SUPERVISION } from './supervision.ts'

/**
 * One guard for each way to break a promise: what guards it, and the test that notices when the guard is gone. Decisions without I/O are
 * covered by mutants instead; see `tools/mutants`.
 */
export const GUARDS: readonly Guard[] = [
  ...ACCESS,
  ...BATCHES,
  ...LOCK_USE,
  ...CLAIMS,
  ...CRASHES,
  ...DISCOVERY,
  ...DURABILITY,
  ...EFFECTS,
  ...FLOWS,
  ...LIMITS,
  ...MAINTENANCE,
  ...ORDER_KEYS,
  ...RECENT,
  ...SIGNALS,
  ...SUPERVISION,
]
