import type { MaintenanceStore } from '../../ports/maintenance.ts'
import type { RowStore } from '../../ports/rows.ts'
import { areSameWaits } from '../../row-waits.ts'
import type { DiscoveryScripts } from '../../sql/discovery-sql.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { noteWaits, readWaits } from '../row-waits.ts'
import { readRowCircumstances } from './circumstances.ts'
import { listDiscoveries, setDiscoveryPaused } from './discoveries.ts'
import { releaseRows, retryRow } from './manage.ts'
import { findRow, listRows, readRow } from './records.ts'
import { repairRows } from './repair.ts'

type Managed =
  | 'listDiscoveries'
  | 'noteWaiting'
  | 'listRows'
  | 'findRow'
  | 'getRow'
  | 'rowCircumstances'
  | 'retryRow'
  | 'releaseRows'
  | 'setDiscoveryPaused'

/** The verbs that show and change what Gleaner remembers of rows. */
export function managingRows(
  scripts: Scripts,
  discoveries: DiscoveryScripts,
): Pick<RowStore, Managed> & Pick<MaintenanceStore, 'repairRows'> {
  const { db, read, write, writeCheaply, tell } = scripts
  return {
    repairRows: (step) => repairRows(scripts, discoveries, step),
    listDiscoveries: () => read(() => listDiscoveries(db)),
    async noteWaiting(waiting) {
      const waits = await read(readWaits)
      return areSameWaits(waiting, waits) ? waits : writeCheaply(() => noteWaits(db, waiting))
    },
    listRows: (discovery, filter, page) =>
      discoveries.read(discovery, (known) => listRows(db, known, filter, page)),
    findRow: (discovery, key) => discoveries.read(discovery, (known) => findRow(db, known, key)),
    getRow: (discovery, key) => discoveries.read(discovery, (known) => readRow(db, known, key)),
    rowCircumstances: (discovery, key) =>
      discoveries.readOrProblem(discovery, (known) => readRowCircumstances(db, known, { discovery, key })),
    async retryRow(discovery, key) {
      const answer = await discoveries.write(discovery, (known) => retryRow(db, known, key))
      if (answer === 'retried') tell({ kind: 'work' })
      return answer
    },
    async releaseRows(discovery, step) {
      const answer = await discoveries.write(discovery, ({ name }) => releaseRows(db, name, step))
      if (answer.released > 0) tell({ kind: 'work' })
      return answer
    },
    async setDiscoveryPaused(discovery, paused) {
      await write(() => setDiscoveryPaused(discovery, paused))
      if (!paused) tell({ kind: 'work' })
    },
  }
}
