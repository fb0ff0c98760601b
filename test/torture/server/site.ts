import { COUNTING, FLAWS } from '../../../src/store/postgres/maintenance/soundness.ts'
import type { Ground, Row } from '../ground/ground.ts'
import type { Cluster } from './cluster.ts'

/** A database that something happens to, as it is seen from outside. */
export type Site = Pick<Ground, 'rows' | 'hasTables' | 'damage' | 'ownFlaws' | 'counting'>

/** `serving`: the server that takes the writes now. */
export function siteOf(serving: () => Cluster): Site {
  const rows = (sql: string): Promise<Row[]> => serving().rows(sql)
  return {
    rows,
    hasTables: async () => true,
    damage: async () => [],
    ownFlaws: FLAWS,
    counting: COUNTING,
  }
}
