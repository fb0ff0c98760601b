import { readRowId } from '../../model/row.ts'
import type { KeptStep } from '../../model/step.ts'
import type { ClaimProof, Effects } from '../ports/exchange.ts'
import type { AtomicStep, NewStep, OpenedSteps, StepStore } from '../ports/steps.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { type Fragment, sql } from '../sql/sql.ts'

export function stepStore(scripts: Scripts, rowid: (session: string) => number): StepStore {
  const { db } = scripts
  return {
    openSteps(session, claim) {
      if (readRowId(claim.id) === null) return scripts.read(() => readOpened(db, claim.id))
      return scripts.writeCheaply(() => openRowSteps(db, rowid(session), claim))
    },
    keepSteps(session, steps, durability) {
      const keep = () => keepSteps(db, rowid(session), steps)
      return durability === 'promised' ? scripts.write(keep) : scripts.writeCheaply(keep)
    },
    keepStepWith: (session, step, atomic) =>
      scripts.writeWithEffects((run) => keepStepWith(db, { session: rowid(session), step, atomic, run })),
    stepsOf: (item) => scripts.read(() => readSteps(item)),
  }
}

/** In a transaction: an edit of the row drops its steps. Null: the claim is lost. */
function* openRowSteps(db: Dialect, session: number, claim: ClaimProof): Script<OpenedSteps | null> {
  const proof = yield* provenClaim(db, session, claim)
  if (proof === null) return null
  yield* change(
    sql`DELETE FROM gleaner.steps WHERE item = ${claim.id} AND version IS DISTINCT FROM CAST(${proof.version} AS text)`,
  )
  return yield* readOpened(db, claim.id)
}

function* readOpened(db: Dialect, item: string): Script<OpenedSteps> {
  const steps = yield* readSteps(item)
  const now = steps.some(({ kind }) => kind === 'sleep') ? yield* db.time() : 0
  return { steps, now }
}

/** In a transaction. Answers the items whose claim is lost. */
export function* keepSteps(db: Dialect, session: number, steps: readonly NewStep[]): Script<string[]> {
  const lost: string[] = []
  for (const step of steps) if (!(yield* keepStep(db, session, step))) lost.push(step.claim.id)
  return lost
}

/** One statement. False: the claim is lost, and nothing was written. */
export function* keepStep(db: Dialect, session: number, step: NewStep): Script<boolean> {
  const until: Fragment =
    step.forMs === undefined ? sql`CAST(NULL AS bigint)` : sql`${db.now} + CAST(${step.forMs} AS bigint)`
  const kept = yield* change(sql`
    INSERT INTO gleaner.steps (item, name, number, kind, value, version, attempt, started_at, kept_at, until)
    SELECT CAST(${step.claim.id} AS text), CAST(${step.name} AS text), CAST(${step.number} AS integer), CAST(${step.kind} AS text),
      CAST(${step.value} AS text), ${versionOf(db, step.claim)}, CAST(${step.attempt} AS integer),
      CAST(${step.startedAt} AS bigint), ${db.now}, ${until}
    ${heldBy(db, session, step.claim)}
    ON CONFLICT (item, name, number) DO UPDATE SET kind = excluded.kind, value = excluded.value, version = excluded.version,
      attempt = excluded.attempt, kept_at = excluded.kept_at, until = excluded.until`)
  return kept > 0
}

interface AtomicKeeping {
  session: number
  step: NewStep
  atomic: AtomicStep
  run: (effects: Effects) => Script<unknown>
}

/** In a transaction. The claim is proved first, so that the effects of a late worker are never run. */
function* keepStepWith(db: Dialect, { session, step, atomic, run }: AtomicKeeping): Script<boolean> {
  if ((yield* provenClaim(db, session, step.claim)) === null) return false
  yield* run(atomic.effects)
  return yield* keepStep(db, session, { ...step, value: atomic.value() })
}

interface Proof {
  /** What the row was like when it was claimed; null for a task. */
  version: string | null
}

/** The claim holds, and its session cannot end before this transaction does. Null: it is lost. */
export function* provenClaim(db: Dialect, session: number, claim: ClaimProof): Script<Proof | null> {
  const found = yield* one<Proof>(
    sql`SELECT ${versionOf(db, claim)} AS version ${heldBy(db, session, claim)}`,
  )
  return found ?? null
}

function versionOf(db: Dialect, claim: ClaimProof): Fragment {
  return readRowId(claim.id) === null ? sql`CAST(NULL AS text)` : db.versionOf('c')
}

function heldBy(db: Dialect, session: number, { id, fence }: ClaimProof): Fragment {
  const row = readRowId(id)
  const item =
    row === null
      ? sql`FROM gleaner.tasks AS c JOIN gleaner.sessions AS s ON s.id = c.session WHERE c.id = ${Number(id)}`
      : sql`FROM gleaner.claims AS c JOIN gleaner.sessions AS s ON s.id = c.session
            WHERE c.discovery = ${row.discovery} AND c.row_key = ${row.key}`
  return sql`${item} AND c.fence = ${fence} AND c.session = ${session} AND s.ended_at IS NULL ${db.keepsSession('s')}`
}

export function* readSteps(item: string): Script<KeptStep[]> {
  const kept = yield* rows<
    Omit<KeptStep, 'startedAt' | 'keptAt'> & { started_at: number; kept_at: number }
  >(sql`
    SELECT name, number, kind, value, attempt, started_at, kept_at, until FROM gleaner.steps
    WHERE item = ${item} ORDER BY started_at, kept_at, name, number`)
  return kept.map(({ started_at, kept_at, ...step }) => ({ ...step, startedAt: started_at, keptAt: kept_at }))
}

/** Of tasks that completed and run again: from the beginning. A task that failed continues behind its steps. */
export function* removeStepsOf(db: Dialect, items: readonly string[]): Script<void> {
  if (items.length > 0) yield* change(sql`DELETE FROM gleaner.steps WHERE item ${db.oneOf(items)}`)
}

/** In the transaction that completes a row. */
export function* removeSteps(item: string): Script<void> {
  yield* change(sql`DELETE FROM gleaner.steps WHERE item = ${item}`)
}
