import type { DiscoverySource } from '../../ports/rows.ts'
import { isFixed, orderOf } from '../../source.ts'
import type { Ask } from '../server/database.ts'
import { quoted, type Shape } from './shape.ts'
import type { RowSource, ScanMethod } from './source.ts'

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  Filter?: string
  Plans?: Plan[]
}

/** More pages take a while to index, and no process can write in the meantime. */
const SMALL_PAGES = 1_000

/** Whatever could serve is preferred to reading the table, however small it is now. */
const NOT_PREFERRED = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort']

export interface IndexAdvice {
  way: ScanMethod
  createIndex: string | null
}

/** Whether an index leads from one eligible row to the next, and which one would if not. Nothing of it is run. */
export async function adviceFor(ask: Ask, source: RowSource, shape: Shape): Promise<IndexAdvice> {
  for (const setting of NOT_PREFERRED) await ask(`SET LOCAL ${setting} = off`)
  const [row] = await ask(
    `EXPLAIN (FORMAT JSON) SELECT 1 FROM ${source.from} WHERE ${source.eligible} ORDER BY ${source.order} LIMIT 100`,
  )
  const nodes = nodesOf(row['QUERY PLAN'][0].Plan)
  // The scans of a condition's own subqueries come after those of the rows.
  const [first, ...others] = nodes.filter((node) => node['Relation Name'] !== undefined)
  const scans = [first!, ...others.filter((node) => node['Node Type'] === first!['Node Type'])]
  const sorts = nodes.some((node) => node['Node Type'].includes('Sort'))
  const indexed = !sorts && scans.every((node) => node['Node Type'].startsWith('Index'))
  if (indexed && scans.every((node) => node.Filter === undefined)) return { way: 'index', createIndex: null }
  const helped = indexed && scans.every((node) => node['Index Cond'] !== undefined)
  return {
    way: helped ? 'index' : 'window',
    createIndex: await missingIndex(ask, source.declared, shape, helped),
  }
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

/** Tried on an empty table of the same shape: not every condition can stand in an index (`now()` cannot). */
async function missingIndex(
  ask: Ask,
  declared: DiscoverySource,
  shape: Shape,
  isHelped: boolean,
): Promise<string | null> {
  const table = quoted(shape.table)
  const ordered = orderOf(declared)
  const columns = [
    ...ordered.map(({ column, descending }) => `${quoted(column)}${descending ? ' DESC' : ''}`),
    ...declared.key.filter((name) => !ordered.some(({ column }) => column === name)).map(quoted),
  ]
  const fixed = shape.columns
    .map(({ name }) => name)
    .filter((name) => isFixed(name, declared.where) && !columns.includes(quoted(name)))
    .map(quoted)
  // In key order there is an index already, which does not know the condition.
  const isOther = fixed.length + ordered.length > 0
  const condition = conditionOf(declared)
  const offers = [
    `(${columns.join(', ')}) WHERE ${condition}`,
    // What depends on the moment cannot stand in an index; one that leads to some of the rows is there already, or is offered.
    ...(isHelped || !isOther ? [] : [`(${[...fixed, ...columns].join(', ')})`]),
  ]
  const concurrently = shape.pages > SMALL_PAGES ? ' CONCURRENTLY' : ''
  for (const offer of offers) {
    if (await serves(ask, shape, offer, { condition, order: columns }))
      return `CREATE INDEX${concurrently} ON ${quoted(shape.schema)}.${table} ${offer}`
  }
  return null
}

async function serves(
  ask: Ask,
  shape: Shape,
  offer: string,
  { condition, order }: { condition: string; order: readonly string[] },
): Promise<boolean> {
  const table = quoted(shape.table)
  await ask('SAVEPOINT trial')
  try {
    await ask(`CREATE TEMPORARY TABLE ${table} (LIKE ${quoted(shape.schema)}.${table}) ON COMMIT DROP`)
    await ask(`CREATE INDEX ON pg_temp.${table} ${offer}`)
    const [row] = await ask(
      `EXPLAIN (FORMAT JSON) SELECT 1 FROM pg_temp.${table} WHERE (${condition}\n) ORDER BY ${order.join(', ')} LIMIT 100`,
    )
    const nodes = nodesOf(row['QUERY PLAN'][0].Plan)
    const scan = nodes.find((node) => node['Relation Name'] === shape.table)
    const sorts = nodes.some((node) => node['Node Type'].includes('Sort'))
    return !sorts && scan!['Node Type'].startsWith('Index')
  } catch {
    return false
  } finally {
    await ask('ROLLBACK TO trial')
  }
}

/** As it was written; between brackets, if it ends in a comment. */
function conditionOf({ where }: DiscoverySource): string {
  return where.includes('--') ? `(${where}\n)` : where.trim()
}
