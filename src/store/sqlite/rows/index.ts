import { setImmediate } from 'node:timers/promises'
import type { RowAnswer, RowCounts } from '../../../model/row.ts'
import { aside } from '../../aside.ts'
import type { Change } from '../../ports/change.ts'
import type { Effects } from '../../ports/exchange.ts'
import type { MaintenanceStore } from '../../ports/maintenance.ts'
import type {
  BrokenDiscovery,
  DiscoverySource,
  PlannedDiscovery,
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
import { isLive, markUseful } from '../sessions/live.ts'
import { runEffects } from '../tasks/effects.ts'
import type { OurDatabase } from '../tasks/within.ts'
import { claimsOf } from './claim.ts'
import { completionBatches } from './complete-batch.ts'
import { countHere, isQuicklyCounted } from './count.ts'
import { registerDigest } from './digest.ts'
import { discoveryScripts } from './discovery-scripts.ts'
import { exchangeRows, hasRowChanges, NOTHING, type RowEffect, type RowMemory } from './exchange.ts'
import { findRowByKey, rowOf } from './find.ts'
import { validateSources } from './plan.ts'
import { forgetReviewed } from './review.ts'
import type { RowToSettle } from './row-to-settle.ts'
import { RowScan } from './scan.ts'
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
  /** Counts in a thread of its own. */
  countAside: (source: DiscoverySource, now: number) => Promise<RowCounts>
  /** In the moment of a claim: so many of what a worker wanted were there. */
  heed: (session: string, want: { start: number } | null, claims: number) => void
}

/** Steps of one scan. A scan begins again when the ledger has changed: this bounds it if rows are edited all the time. */
const STEPS_MAX = 100_000

/** The verbs for work found in the user's own tables. */
export function sqliteRows(services: RowServices): RowStore & Pick<MaintenanceStore, 'repairRows'> {
  const { connection, memory, scripts, read } = services
  const db = connection.statements
  const { book } = memory
  registerDigest(connection.raw)
  const counts = new Map<string, Promise<RowCounts>>()
  return {
    ...managingRows(scripts, discoveryScripts(scripts, book)),
    planDiscoveries: (sources) => planDiscoveries(services, sources),
    exchangeRows: (asked) => exchangeAndScan(services, asked),
    completeRowWith: (session, run, { values, retryAfterMs }, effects) => {
      const outcome = { kind: 'completed', values, retryAfterMs } as const
      return completeRowWith(services, { ...run, outcome }, Number(session), effects)
    },
    countRows: (discovery) => countRows(services, counts, discovery),
    rowValues: (discovery, key) =>
      read(() => {
        const known = book.get(discovery)
        const found = findRowByKey(db, known, key)
        return found === null ? null : rowOf(known.rows, found)
      }),
  }
}

async function planDiscoveries(
  { connection, scripts, read, tell }: RowServices,
  sources: readonly DiscoverySource[],
): Promise<PlannedDiscovery[]> {
  const plans = await read(() => validateSources(connection.statements, sources))
  const changed = await scripts.read(() => changedPlans(scripts.db, plans))
  if (changed.length > 0) {
    await scripts.write(() => writePlans(scripts.db, changed))
    tell({ kind: 'work' })
  }
  return plans.map(({ planned }) => planned)
}

/** Settles what is finished. If that transaction claimed nothing, a scan without a lock finds out where there is something. */
async function exchangeAndScan(services: RowServices, asked: RowExchange): Promise<RowsExchanged> {
  const { connection, read } = services
  const { want, session } = asked
  if (want === null && !hasRowChanges(asked)) {
    const isOver = await read(() => !isLive(connection.statements, Number(session)))
    return isOver ? { ...NOTHING, sessionEnded: true } : NOTHING
  }
  const exchange = (one: RowExchange) => exchangeOnce(services, one)
  const settled = hasRowChanges(asked) ? await handIn(asked, exchange) : NOTHING
  if (want === null || settled.claims.length > 0 || settled.sessionEnded) return settled
  const { answers, refused, broken = [] } = settled
  const found = await scanFor(services, session, want)
  return { ...found, answers, refused, broken: [...broken, ...(found.broken ?? [])] }
}

async function exchangeOnce(
  { connection, memory, now, write, tell, heed }: RowServices,
  asked: RowExchange,
): Promise<RowsExchanged> {
  const groups = completionBatches(asked.outcomes)
  const { answer, held, freed } = await write('normal', (): RowEffect => {
    const effect = exchangeRows({ db: connection.statements, memory, now: now() }, asked, groups)
    heed(asked.session, asked.want, effect.held.length)
    return effect
  })
  if (freed) tell({ kind: 'work' })
  return { ...answer, claims: held.flatMap(claimsOf) }
}

async function scanFor(
  services: RowServices,
  session: string,
  want: RowClaimRequest,
): Promise<RowsExchanged> {
  const { connection, memory, now, read, write, heed } = services
  const db = connection.statements
  const scan = new RowScan(db, memory.book)
  heed(session, want, 0)
  let conflicts = 0
  const broken: BrokenDiscovery[] = []
  for (let step = 0; step < STEPS_MAX; step++) {
    const found = await read(() => scan.step(session, want, now()))
    switch (found.kind) {
      case 'session-over':
        return { ...NOTHING, sessionEnded: true }
      case 'nothing': {
        const { kind: _, ...answer } = found
        return { ...NOTHING, ...answer, conflicts, broken }
      }
      case 'outdated':
        await write('normal', () => forgetReviewed(db, memory.book.get(found.discovery), found.keys))
        scan.again()
        break
      case 'further':
        // A scan over rows that are kept back must not hold up this thread.
        await setImmediate()
        break
      case 'something': {
        const answer = await exchangeOnce(services, { session, want, outcomes: [], starts: [] })
        broken.push(...(answer.broken ?? []))
        if (answer.claims.length > 0 || answer.sessionEnded) return { ...answer, conflicts, broken }
        conflicts += 1
      }
    }
  }
  return { ...NOTHING, nextDueInMs: 0, broken }
}

async function completeRowWith(
  { connection, memory, ours, now, promised, write, tell }: RowServices,
  row: RowToSettle,
  session: number,
  effects: Effects,
): Promise<RowAnswer> {
  const db = connection.statements
  let enqueued = false
  const complete = (): RowAnswer => {
    if (!isLive(db, session)) return { kind: 'refused' }
    const settled = settleRow({ db, book: memory.book, session, now: now() }, row, () => {
      enqueued = runEffects(connection, ours, effects)
    })
    if (settled.kind === 'done') {
      driveOn(db, removeSteps(row.id))
      markUseful(db, session)
    }
    return settled
  }
  const answer = await write(promised, complete, true)
  if (enqueued || answer.kind === 'changed' || answer.kind === 'paused') tell({ kind: 'work' })
  return answer
}

/** Large tables are counted in a thread of its own, once for all that ask meanwhile. */
async function countRows(
  { connection, memory, now, read, countAside }: RowServices,
  counts: Map<string, Promise<RowCounts>>,
  discovery: string,
): Promise<RowCounts> {
  const db = connection.statements
  const known = await read(() => memory.book.get(discovery))
  const quick = await read(() =>
    connection.path === ':memory:' || isQuicklyCounted(db, known.rows)
      ? countHere(db, known.sql, now())
      : null,
  )
  return quick ?? aside(counts, discovery, () => countAside(known.rows.source, now()))
}
