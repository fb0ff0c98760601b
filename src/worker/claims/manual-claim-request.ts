import type { DiscoveryDefinition } from '../../define/discovery.ts'
import type { TaskDefinition } from '../../define/task.ts'
import type { Capabilities } from '../../model/capabilities.ts'

/** What a caller asks for, checked. */
export interface ManualClaimRequest {
  /** The name that the caller gave itself. */
  worker: string
  queues: readonly string[]
  tasks: ReadonlyMap<string, TaskDefinition>
  discoveries: ReadonlyMap<string, DiscoveryDefinition>
  capabilities: Capabilities
  limit: number
  waitMs: number
  leaseMs: number
  /** A caller over HTTP, which renews its sessions itself. Null: this process, whose keeper does. */
  remote: { caller: string; host: string } | null
}

/** Requests with the same key can be served by the same session. */
export function keyOf({
  worker,
  queues,
  tasks,
  discoveries,
  capabilities,
  leaseMs,
  remote,
}: ManualClaimRequest): string {
  const names = [[...tasks.keys()], [...discoveries.keys()]]
  return JSON.stringify([remote?.caller ?? null, worker, leaseMs, queues, names, capabilities])
}
