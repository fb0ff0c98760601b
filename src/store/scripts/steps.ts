import { readRowId } from '../../model/row.ts'
import { type KeptStep, sleepLeftMs } from '../../model/step.ts'
import type { ClaimProof, Effects } from '../ports/exchange.ts'
import type { AtomicStep, AwaitedSignal, NewStep, NewWait, OpenedSteps, StepStore } from '../ports/steps.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { type Fragment, sql } from '../sql/sql.ts'
import { deliverSignal, signalsOf } from './signals.ts'
import { takeSignal } from './take-signal.ts'
import { forgetWaits, type ResumingTasks, waitsOf } from './waits.ts'

export function stepStore(
  scripts: Scripts,
  resuming: ResumingTasks,
  rowid: (session: string) => number,
): StepStore {
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
    // A power cut takes step and signal back together.
    awaitSignal: (session, wait) => scripts.writeCheaply(() => awaitSignal(db, rowid(session), wait)),
    async sendSignal(signal) {
      const answer = await scripts.write(() => deliverSignal(db, resuming, signal))
      if (answer === 'resumes') scripts.tell({ kind: 'work' })
      return answer
    },
    waitsOf: (item) => scripts.read(() => waitsOf(item)),
    signalsOf: (item) => scripts.read(() => signalsOf(item)),
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
  // What was sent while nothing was known of the row belongs to this version.
  yield* change(
    sql`DELETE FROM gleaner.signals WHERE item = ${claim.id} AND version IS NOT NULL AND version <> CAST(${proof.version} AS text)`,
  )
  yield* change(sql`
    UPDATE gleaner.signals SET version = CAST(${proof.version} AS text) WHERE item = ${claim.id} AND version IS NULL`)
  yield* forgetWaits(db, [claim.id])
  return yield* readOpened(db, claim.id)
}

function* readOpened(db: Dialect, item: string): Script<OpenedSteps> {
  const steps = yield* readSteps(item)
  const now = steps.some(({ kind }) => kind === 'sleep' || kind === 'wait') ? yield* db.time() : 0
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

/** In a transaction that proves the claim. Null: it is lost. */
function* awaitSignal(db: Dialect, session: number, wait: NewWait): Script<AwaitedSignal | null> {
  const { claim, name, number, timeoutMs, ...run } = wait
  const before = yield* waitingStep(claim.id, { name, number })
  if (before === undefined) {
    const forMs = timeoutMs === null ? {} : { forMs: timeoutMs }
    const step = { claim, name, number, ...run, kind: 'wait', value: null, ...forMs } as const
    if (!(yield* keepStep(db, session, step))) return null
  } else if ((yield* provenClaim(db, session, claim)) === null) return null
  else if (before.kind !== 'wait') return answerOf(before)
  const now = yield* db.time()
  yield* takeSignal(db, claim.id, { name, number }, now)
  const step = (yield* waitingStep(claim.id, { name, number }))!
  if (step.kind !== 'wait') return answerOf(step)
  const leftMs = step.until === null ? null : sleepLeftMs(step, now)
  if (leftMs !== 0) return { kind: 'waits', until: step.until, leftMs }
  yield* change(sql`
    UPDATE gleaner.steps SET kind = 'timeout', kept_at = ${now} WHERE item = ${claim.id} AND name = ${name} AND number = ${number}`)
  return { kind: 'timeout' }
}

type WaitingStep = Pick<KeptStep, 'kind' | 'value' | 'until'>

function waitingStep(
  item: string,
  { name, number }: Pick<NewWait, 'name' | 'number'>,
): Script<WaitingStep | undefined> {
  return one<WaitingStep>(sql`
    SELECT kind, value, until FROM gleaner.steps WHERE item = ${item} AND name = ${name} AND number = ${number}`)
}

function answerOf({ kind, value }: WaitingStep): AwaitedSignal {
  return kind === 'timeout' ? { kind } : { kind: 'signal', value }
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

/** In the transaction that completes a row. Signals that came too late for it go with them. */
export function* removeSteps(item: string): Script<void> {
  const removed = yield* change(sql`DELETE FROM gleaner.steps WHERE item = ${item}`)
  if (removed > 0) yield* change(sql`DELETE FROM gleaner.signals WHERE item = ${item}`)
}
