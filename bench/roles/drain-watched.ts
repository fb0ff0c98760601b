import { watchClaims } from '../claim-watch.ts'
import { type DrainResult, run as drain } from './drain.ts'
import type { Parent } from './role.ts'

/** A drain that also tells how long each claim took. */
export async function run(
  params: Parameters<typeof drain>[0],
  parent: Parent,
): Promise<DrainResult & { claimsMs: number[] }> {
  const claimsMs = watchClaims()
  return { ...(await drain(params, parent)), claimsMs }
}
