import type { RowTransition } from '../../../model/ledger.ts'
import { readRowId } from '../../../model/row.ts'
import type { Holdings } from '../../scripts/sessions.ts'
import { native } from '../../sql/script.ts'
import type { Statements } from '../file/statements.ts'
import type { DiscoveryCache } from '../rows/discovery-cache.ts'
import { forgiveRow, giveRowBack, rowsHeldBy } from '../rows/held.ts'
import type { Memory } from '../tasks/memory.ts'
import { Tally } from '../tasks/tally.ts'
import { allHeldBy, applyAll } from '../tasks/transition.ts'

export function sqliteHoldings(memory: Memory, book: DiscoveryCache): Holdings {
  return {
    tasks: (sessions) =>
      native((db: Statements) => {
        const items = sessions.flatMap((session) => allHeldBy(db, session))
        return {
          items,
          giveBack: (transitions, now) =>
            native(() => {
              const tally = new Tally()
              const decided = items.map((task) => ({ task, transition: transitions.get(task.id)! }))
              applyAll(db, memory, decided, now, tally)
              return tally.write(db)
            }),
        }
      }),
    rows: (sessions) =>
      native((db: Statements) => {
        const items = sessions.flatMap((session) => rowsHeldBy(db, book, session))
        return {
          items,
          giveBack: (transitions, now) =>
            native(() => {
              for (const row of items)
                giveRowBack(db, book, row, { transition: transitions.get(row.id) as RowTransition, now })
              return false
            }),
        }
      }),
    forgiveRows: (ids) =>
      native((db: Statements) => {
        for (const id of ids) {
          const { discovery, key } = readRowId(id)!
          forgiveRow(db, discovery, key)
        }
      }),
    // Differs because SQLite counts what is unsettled for each claim, so nothing is left when its last item is settled.
    forget: () => native(() => undefined),
  }
}
