import type { Run } from '../../ports/exchange.ts'
import { rowid } from '../../task-row.ts'
import type { Statements } from '../file/statements.ts'
import { alikeInARow } from './alike.ts'

/** A run whose handler returned. */
export interface Completion extends Run {
  outcome: { kind: 'completed'; result: string | null }
}

const COMPLETE = `UPDATE gleaner_tasks SET status = 'completed', fence = NULL, cancel_requested = 0, error = NULL,
  started_at = ?, finished_at = ?, result =`

/** Results that are longer go one by one: together they would be one huge value. */
const SHORT_RESULT_MAX = 2_048

/** Proves the claim, and frees the task. False: not ours, nothing was written. */
export function complete(db: Statements, session: number, done: Completion, now: number): boolean {
  const { changes } = db
    .sql(`${COMPLETE} ? WHERE id = ? AND fence = ? AND session = ?`)
    .run(done.startedAt, now, done.outcome.result, rowid(done.id), done.fence, session)
  return changes > 0
}

/** Answers those that were ours, in groups of one fence each. */
export function completeAll(
  db: Statements,
  session: number,
  completions: readonly Completion[],
  now: number,
): (readonly Completion[])[] {
  return alikeInARow(completions, endedAlike).map((alike) => {
    if (alike.length > 1 && completeTogether(db, session, alike, now)) return alike
    return alike.filter((done) => complete(db, session, done, now))
  })
}

/** Short tasks start within the same millisecond. */
function endedAlike(one: Completion, next: Completion): boolean {
  return one.fence === next.fence && one.startedAt === next.startedAt && isShort(one) && isShort(next)
}

function isShort({ outcome: { result } }: Completion): boolean {
  return result === null || result.length <= SHORT_RESULT_MAX
}

/** All or none, because the count does not tell which of them were not ours. */
function completeTogether(
  db: Statements,
  session: number,
  alike: readonly Completion[],
  now: number,
): boolean {
  db.sql('SAVEPOINT gleaner_alike').run()
  const { result } = alike[0]!.outcome
  const one = alike.every((done) => done.outcome.result === result)
  const all = (one ? withOneResult : withResults)(db, session, alike, now) === alike.length
  if (!all) db.sql('ROLLBACK TO gleaner_alike').run()
  db.sql('RELEASE gleaner_alike').run()
  return all
}

/** Most return nothing. */
function withOneResult(db: Statements, session: number, alike: readonly Completion[], now: number): number {
  const { startedAt, outcome, fence } = alike[0]!
  const ids = `[${alike.map((done) => rowid(done.id)).join()}]`
  return db
    .sql(`${COMPLETE} ? WHERE id IN (SELECT value FROM json_each(?)) AND fence = ? AND session = ?`)
    .run(startedAt, now, outcome.result, ids, fence, session).changes
}

/** A quarter more, and little more than half of one by one. */
function withResults(db: Statements, session: number, alike: readonly Completion[], now: number): number {
  const { startedAt, fence } = alike[0]!
  const entries = alike.map(({ id, outcome }) => `"${rowid(id)}":${JSON.stringify(outcome.result)}`)
  return db
    .sql(`${COMPLETE} done.value FROM json_each(?) done
          WHERE gleaner_tasks.id = CAST(done.key AS INTEGER) AND fence = ? AND session = ?`)
    .run(startedAt, now, `{${entries.join()}}`, fence, session).changes
}
