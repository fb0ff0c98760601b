import type { Holdings } from '../../scripts/sessions.ts'
import { native } from '../../sql/script.ts'
import type { DiscoveryCache } from '../rows/discovery-cache.ts'
import { forgiveRows, giveRowsBack, takeRowsFrom } from '../rows/give-back.ts'
import type { Sql } from '../server/sql.ts'
import type { Memory } from '../tasks/memory.ts'
import { Tally } from '../tasks/tally.ts'
import { allHeldBy, applyAll } from '../tasks/transition.ts'
import { leaveVirtualTimes } from '../tasks/virtual-times.ts'

export function postgresHoldings(memory: Memory, book: DiscoveryCache): Holdings {
  return {
    tasks: (sessions) =>
      native(async (sql: Sql) => {
        const items = await allHeldBy(sql, sessions)
        return {
          items,
          giveBack: (transitions, now) =>
            native(async () => {
              const tally = new Tally()
              const decided = items.map((task) => ({ task, transition: transitions.get(task.id)! }))
              await applyAll(sql, memory, decided, now, tally)
              await tally.write(sql)
              return (await tally.slots.write(sql)) || tally.hasFreedOrders
            }),
        }
      }),
    rows: (sessions) =>
      native(async (sql: Sql) => {
        const claims = await takeRowsFrom(sql, sessions)
        return {
          items: claims.map(({ held, session }) => ({ ...held, session })),
          giveBack: (transitions, now) =>
            native(async () => {
              await giveRowsBack(sql, book, claims, { transitions, now })
              return false
            }),
        }
      }),
    forgiveRows: (ids) => native((sql: Sql) => forgiveRows(sql, ids)),
    forget: (sessions) =>
      native(async (sql: Sql) => {
        await sql.run('DELETE FROM gleaner.batches WHERE session = ANY($1::bigint[])', [sessions])
        await leaveVirtualTimes(sql, sessions)
      }),
  }
}
