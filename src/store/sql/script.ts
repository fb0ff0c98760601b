import type { Fragment } from './sql.ts'

/** One statement of a script: its rows are wanted, or how many rows it changed. */
export interface Statement {
  readonly sql: Fragment
  readonly wants: 'rows' | 'changes'
}

/** Work that each database does in its own way, in the transaction of the script. */
export interface Native<Transaction> {
  readonly native: (transaction: Transaction) => unknown
}

/**
 * A verb that is written once for all databases. It yields statements and receives what they answer. It does no I/O: SQLite
 * drives it synchronously inside its write transaction, PostgreSQL awaits each statement.
 */
export type Script<Answer> = Generator<Statement | Native<any>, Answer, any>

export function* rows<Row>(statement: Fragment): Script<Row[]> {
  return yield { sql: statement, wants: 'rows' }
}

export function* one<Row>(statement: Fragment): Script<Row | undefined> {
  return (yield* rows<Row>(statement))[0]
}

/** How many rows it changed. */
export function* change(statement: Fragment): Script<number> {
  return yield { sql: statement, wants: 'changes' }
}

export function* native<Transaction, Answer>(
  work: (transaction: Transaction) => Answer,
): Script<Awaited<Answer>> {
  return yield { native: work } satisfies Native<Transaction>
}

type Answers = (step: Statement | Native<unknown>) => unknown

/** For a database that answers at once. A statement that fails throws inside the script, which may handle it. */
export function runSync<Answer>(script: Script<Answer>, answer: Answers): Answer {
  let step = script.next()
  while (!step.done) {
    let answered: unknown
    try {
      answered = answer(step.value)
    } catch (error) {
      step = script.throw(error)
      continue
    }
    step = script.next(answered)
  }
  return step.value
}

/** For a database that is asked over the network. */
export async function run<Answer>(script: Script<Answer>, answer: Answers): Promise<Answer> {
  let step = script.next()
  while (!step.done) {
    let answered: unknown
    try {
      answered = await answer(step.value)
    } catch (error) {
      step = script.throw(error)
      continue
    }
    step = script.next(answered)
  }
  return step.value
}
