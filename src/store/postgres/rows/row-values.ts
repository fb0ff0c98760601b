import type { RowValues } from '../../../model/row.ts'
import type { Database } from '../server/database.ts'
import { userColumns } from './claim-sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { USER_TYPES } from './values.ts'

/** The row as it is now, if it is eligible. As arrays: the user's columns may have any name. */
export async function readRowValues(
  database: Database,
  { source }: KnownDiscovery,
  key: string,
): Promise<RowValues | null> {
  const { table, from, eligible } = source
  const text = `SELECT ${userColumns(source, table)} FROM ${from} WHERE ${source.hasKey(table, '$1')} AND ${eligible}`
  const [rows] = await database.batch([{ text, values: [key], types: USER_TYPES }], { runsUserSql: true })
  const [row] = rows!
  if (row === undefined) return null
  return Object.fromEntries(source.columns.map(({ name }, at) => [name, row[at]]))
}
