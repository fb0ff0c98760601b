import { flawsToLookFor } from '../../../src/store/soundness.ts'
import type { Ground } from './ground.ts'

/** What is not as it must be: asked of the rows themselves, on a connection of our own. */
export async function flawsOf(
  ground: Pick<Ground, 'rows' | 'hasTables' | 'damage' | 'ownFlaws' | 'counting'>,
): Promise<string[]> {
  const flaws = await ground.damage()
  if (!(await ground.hasTables())) return flaws
  for (const { what, sql } of flawsToLookFor(ground.ownFlaws, ground.counting)) {
    const rows = await ground.rows(sql)
    if (rows.length > 0) flaws.push(`${what}: ${JSON.stringify(rows.slice(0, 3))}`)
  }
  return flaws
}
