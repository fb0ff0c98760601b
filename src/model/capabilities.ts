import type { Requires } from './task.ts'

/** What a worker offers. An array means any of these. */
export type Capabilities = Record<string, string | number | boolean | readonly (string | number | boolean)[]>

/** Whether a worker with these capabilities may run a task that requires those. */
export function satisfies(requires: Requires | null, capabilities: Capabilities): boolean {
  if (requires === null) return true
  return Object.entries(requires).every(([name, wanted]) => {
    const offered = capabilities[name]
    return Array.isArray(offered) ? offered.includes(wanted) : offered === wanted
  })
}
