import pg from 'pg'
import { Pipeline, type WireStatement } from '../../../src/store/postgres/server/pipeline.ts'

export interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Loops': number
  'Actual Rows': number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

/**
 * How the server carries out statements like this while `work` asks for them, as it explains each with its values, and with the
 * settings of its transaction; undone, and then made.
 */
export async function explained(
  isLike: (text: string) => boolean,
  work: () => Promise<unknown>,
): Promise<Plan[]> {
  const client = pg.Client.prototype as { query: (...parameters: any[]) => any }
  const query = client.query
  const plans: Plan[] = []
  client.query = function (...parameters) {
    const ask = (text: string, values?: unknown[]) => query.call(this, text, values)
    const explain = ({ text, values }: Pick<WireStatement, 'text' | 'values'>) =>
      ask(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...values]).then(({ rows }: any) =>
        plans.push(rows[0]['QUERY PLAN'][0].Plan),
      )
    const [asked] = parameters
    // Not awaited: they are sent one after the other, and what was asked for comes after them.
    if (asked instanceof Pipeline) {
      const at = asked.statements.findIndex(({ text }) => isLike(text))
      if (at !== -1) {
        for (const { text, values } of asked.statements.slice(0, at)) void ask(text, [...values])
        void explain(asked.statements[at]!)
        void ask('ROLLBACK')
      }
    } else if (asked.text !== undefined && isLike(asked.text)) {
      void ask('SAVEPOINT before')
      void explain(asked)
      void ask('ROLLBACK TO before')
    }
    return query.apply(this, parameters)
  }
  try {
    await work()
  } finally {
    client.query = query
  }
  return plans
}

export function nodesOf<P extends { Plans?: P[] }>(plan: P): P[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
