import type { DiscoverySource } from '../../ports/rows.ts'
import { badDiscovery, checkCondition, realColumns } from '../../source.ts'
import type { Database } from '../server/database.ts'
import { adviceFor } from './index-advice.ts'
import { quoted, type Shape, shapeOf } from './shape.ts'
import { type RowSource, rowSource } from './source.ts'
import type { ValidatedSource } from './validated-source.ts'
import { hasWakeTrigger } from './wake-trigger.ts'

/** Looks a declaration over, and leaves no trace. Throws what is wrong with it. */
export async function validateSource(
  database: Database,
  declared: DiscoverySource,
): Promise<ValidatedSource> {
  checkCondition(declared, PARAMETER)
  const shape = await shapeOf(database, declared)
  const source = rowSource(declared, shape, 'index')
  await tryCondition(database, source, shape)
  const advice = await database.trial((ask) => adviceFor(ask, source, shape))
  const tells = await hasWakeTrigger(database.sql, shape)
  return { source: rowSource(declared, shape, advice.way), shape, tells, ...advice }
}

/** Question marks, colons and at signs are operators here. */
const PARAMETER = /^\$$/
const WRITES = '25006'

/**
 * Asked of the server, which may not write meanwhile: once without running it, then of a row of NULLs and of a real one.
 * What depends on the data may fail there, and is no mistake of the condition.
 */
async function tryCondition(database: Database, source: RowSource, shape: Shape): Promise<void> {
  const readOnly = (text: string) =>
    database.trial(async (ask) => {
      await ask('SET TRANSACTION READ ONLY')
      await ask(text)
    })
  const refused = (problem: string, cause: unknown) => {
    const hint = realColumns(
      source.declared.table,
      shape.columns.map(({ name }) => name),
    )
    return badDiscovery(source.declared.name, `where: ${problem}`, hint, cause)
  }
  await readOnly(`EXPLAIN SELECT 1 FROM ${source.from} WHERE ${source.eligible}`).catch((error) => {
    const hint = /[?$:@]/.test(source.declared.where) ? ' (there are no parameters in a condition)' : ''
    throw refused(`${error.message}${hint}`, error)
  })
  const nulls = shape.columns.map(({ name, type }) => `NULL::${type} AS ${quoted(name)}`).join(', ')
  for (const rows of [`(SELECT ${nulls}) AS ${source.table}`, `${source.from} LIMIT 1`]) {
    await readOnly(`SELECT ${source.eligible} FROM ${rows}`).catch((error) => {
      if (error.cause?.code === WRITES) throw refused(`it writes: ${error.message}`, error)
    })
  }
}
