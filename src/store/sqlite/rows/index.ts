import { setImmediate } from 'node:timers/promises'
import type { RowAnswer, RowCounts } from '../../../model/row.ts'
import { aside } from '../../aside.ts'
import type { Change } from '../../ports/change.ts'
import type { MaintenanceStore } from '../../ports/maintenance.ts'
import type {
  BrokenDiscovery,
  RowClaimRequest,
  RowExchange,
  RowStore,
  RowsExchanged,
} from '../../ports/rows.ts'
import { changedPlans, writePlans } from '../../scripts/rows/discoveries.ts'
import { managingRows } from '../../scripts/rows/index.ts'
import { removeSteps } from '../../scripts/steps.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Connection, Durability } from '../file/connection.ts'
import { driveOn } from '../file/scripts.ts'
import { runJob } from '../maintenance/jobs.ts'
import { isLive, markUseful } from '../sessions/live.ts'
import { runEffects } from '../tasks/effects.ts'
import type { OurDatabase } from '../tasks/within.ts'
import { claimsOf } from './claim.ts'
import { completionBatches } from './complete-batch.ts'
import { countHere, isQuicklyCounted } from './count.ts'
import { registerDigest } from './digest.ts'
import { discoveryScripts } from './discovery-scripts.ts'
import { exchangeRows, hasRowChanges, NOTHING, type RowEffect, type RowMemory } from './exchange.ts'
import { findRow, rowOf } from './find.ts'
import { validateSources } from './plan.ts'
import { forgetReviewed } from './review.ts'
import { RowScan, type ScanAnswer } from './scan.ts'
import { settleRow } from './settle.ts'
import { handIn } from './settle-single.ts'

export interface RowServices {
  connection: Connection
  memory: RowMemory
  scripts: Scripts
  ours: OurDatabase
  now: () => number
  promised: Durability
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T, isolated?: boolean) => Promise<T>
  tell: (change: Change) => void
  /** In the moment of a claim: so many of what a worker wanted were there. */
  heed: (session: string, want: { start: number } | null, claims: number) => void
}

/** A ledger entry more or less is looked at again at once; bounded, should somebody edit all the time. */
const LOOKS_MAX = 100_000

function shown({ kind: _, ...answer }: ScanAnswer & { kind: 'nothing' }) {
  return answer
}

/** The verbs for work found in the user's own tables. */
export function sqliteRows(services: RowServices): RowStore & Pick<MaintenanceStore, 'repairRows'> {
  const { connection, memory, scripts, ours, now, promised, read, write, tell, heed } = services
  const db = connection.statements
  const { book } = memory
  registerDigest(connection.raw)
  const counts = new Map<string, Promise<RowCounts>>()

  const exchange = async (asked: RowExchange): Promise<RowsExchanged> => {
    const groups = completionBatches(asked.outcomes)
    const { answer, held, freed } = await write('normal', (): RowEffect => {
      const effect = exchangeRows(db, memory, asked, groups, now())
      heed(asked.session, asked.want, effect.held.length)
      return effect
    })
    if (freed) tell({ kind: 'work' })
    return { ...answer, claims: held.flatMap(claimsOf) }
  }
  const lookAround = async (session: string, want: RowClaimRequest): Promise<RowsExchanged> => {
    const around = new RowScan(db, book)
    heed(session, want, 0)
    let conflicts = 0
    const broken: BrokenDiscovery[] = []
    for (let step = 0; step < LOOKS_MAX; step++) {
      const look = await read(() => around.step(session, want, now()))
      switch (look.kind) {
        case 'session-over':
          return { ...NOTHING, sessionEnded: true }
        case 'nothing':
          return { ...NOTHING, ...shown(look), conflicts, broken }
        case 'outdated':
          await write('normal', () => forgetReviewed(db, book.get(look.discovery), look.keys))
          around.again()
          break
        case 'further':
          // A walk over what is kept back must not hold up this thread.
          await setImmediate()
          break
        case 'something': {
          const answer = await exchange({ session, want, outcomes: [], starts: [] })
          broken.push(...(answer.broken ?? []))
          if (answer.claims.length > 0 || answer.sessionEnded) return { ...answer, conflicts, broken }
          conflicts += 1
        }
      }
    }
    return { ...NOTHING, nextDueInMs: 0, broken }
  }

  return {
    async planDiscoveries(sources) {
      const plans = await read(() => validateSources(db, sources))
      const changed = await scripts.read(() => changedPlans(scripts.db, plans))
      if (changed.length > 0) {
        await scripts.write(() => writePlans(scripts.db, changed))
        tell({ kind: 'work' })
      }
      return plans.map(({ planned }) => planned)
    },

    async exchangeRows(asked) {
      const { want, session } = asked
      if (want === null && !hasRowChanges(asked)) {
        return read(() => (isLive(db, Number(session)) ? NOTHING : { ...NOTHING, sessionEnded: true }))
      }
      const handedIn = hasRowChanges(asked) ? await handIn(asked, exchange) : NOTHING
      if (want === null || handedIn.claims.length > 0 || handedIn.sessionEnded) return handedIn
      const { answers, refused, broken = [] } = handedIn
      const found = await lookAround(session, want)
      return { ...found, answers, refused, broken: [...broken, ...(found.broken ?? [])] }
    },
    async completeRowWith(session, run, { values, retryAfterMs }, effects) {
      let enqueued = false
      const answer = await write(
        promised,
        (): RowAnswer => {
          const settling = { db, book, session: Number(session), now: now() }
          if (!isLive(db, settling.session)) return { kind: 'refused' }
          const outcome = { kind: 'completed', values, retryAfterMs } as const
          const settled = settleRow(settling, { ...run, outcome }, () => {
            enqueued = runEffects(connection, ours, effects)
          })
          if (settled.kind === 'done') {
            driveOn(db, removeSteps(run.id))
            markUseful(db, settling.session)
          }
          return settled
        },
        true,
      )
      if (enqueued || answer.kind === 'changed' || answer.kind === 'paused') tell({ kind: 'work' })
      return answer
    },

    ...managingRows(scripts, discoveryScripts(scripts, book)),
    async countRows(discovery) {
      const known = await read(() => book.get(discovery))
      const quick = await read(() =>
        connection.path === ':memory:' || isQuicklyCounted(db, known.rows)
          ? countHere(db, known.sql, now())
          : null,
      )
      if (quick !== null) return quick
      const job = {
        kind: 'count-rows',
        database: connection.path,
        source: known.rows.source,
        now: now(),
      } as const
      return aside(counts, discovery, () => runJob(job, undefined, connection.driver.library))
    },
    rowValues: (discovery, key) =>
      read(() => {
        const known = book.get(discovery)
        const found = findRow(db, known, key)
        return found === null ? null : rowOf(known.rows, found)
      }),
  }
}
