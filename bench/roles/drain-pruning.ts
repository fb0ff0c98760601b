import { loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import { type DrainResult, run as drain } from './drain.ts'
import type { Parent } from './role.ts'

/** A drain that also tells how many finished tasks were removed meanwhile. */
export async function run(
  params: Parameters<typeof drain>[0] & { completedBefore: number },
  parent: Parent,
): Promise<DrainResult & { pruned: number }> {
  const result = await drain(params, parent)
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, { durability: 'normal', pollMs: POLL_SHORT_MS })
  const { completed } = (await queue.counts!()) as { completed: number }
  await queue.close()
  return { ...result, pruned: params.completedBefore + result.ran - completed }
}
