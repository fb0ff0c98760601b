import type { DiscoveryRecord, DiscoverySource, PlannedDiscovery } from '../../ports/rows.ts'
import { unknownDiscovery } from '../../source.ts'
import type { Sql } from '../server/sql.ts'
import { quoted, type Shape } from './shape.ts'
import type { ValidatedSource } from './validated-source.ts'
import { wakeTrigger } from './wake-trigger.ts'

export function plannedOf(
  sql: Sql,
  { source, shape, createIndex, tells }: ValidatedSource,
): PlannedDiscovery {
  const { name, version } = source.declared
  return {
    name,
    columns: shape.columns.map((column) => column.name),
    createIndex,
    versionTrigger: version === null ? versionTrigger(shape) : null,
    wakeTrigger: tells ? null : wakeTrigger(sql, shape),
  }
}

interface DiscoveryRow {
  source: string
  create_index: string | null
  paused: boolean
  paused_reason: string | null
}

/** Those that are not written down like that: almost every open finds nothing to do. */
export async function changedPlans(sql: Sql, plans: readonly ValidatedSource[]): Promise<ValidatedSource[]> {
  const rows = await sql.rows<DiscoveryRow & { name: string }>(
    'SELECT name, source, create_index FROM gleaner.discoveries WHERE name = ANY($1)',
    [plans.map(({ source }) => source.declared.name)],
  )
  const before = new Map(rows.map((row) => [row.name, row]))
  return plans.filter(({ source, createIndex }) => {
    const row = before.get(source.declared.name)
    return row?.source !== JSON.stringify(source.declared) || row.create_index !== createIndex
  })
}

/** In a transaction. In the order of their names, so that two who plan the same do not wait for each other. */
export async function writePlans(sql: Sql, plans: readonly ValidatedSource[]): Promise<void> {
  await sql.run(`UPDATE gleaner.settings SET value = value + 1 WHERE key = 'discoveries'`)
  const inOrder = plans.toSorted((one, other) =>
    one.source.declared.name < other.source.declared.name ? -1 : 1,
  )
  for (const { source, createIndex } of inOrder) {
    const { declared } = source
    await forgetOtherKeys(sql, declared)
    await sql.run(
      `INSERT INTO gleaner.discoveries (name, source, create_index) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET source = excluded.source, create_index = excluded.create_index, position = NULL`,
      [declared.name, JSON.stringify(declared), createIndex],
    )
  }
}

/** What is remembered by keys of another kind means no row any more. */
async function forgetOtherKeys(sql: Sql, { name, table, key }: DiscoverySource): Promise<void> {
  const row = await sql.row<DiscoveryRow>(
    'SELECT source FROM gleaner.discoveries WHERE name = $1 FOR UPDATE',
    [name],
  )
  if (row === undefined) return
  const before = JSON.parse(row.source) as DiscoverySource
  if (before.table === table && JSON.stringify(before.key) === JSON.stringify(key)) return
  await sql.run('DELETE FROM gleaner.claims WHERE discovery = $1', [name])
  await sql.run('DELETE FROM gleaner.ledger WHERE discovery = $1', [name])
}

export async function listDiscoveries(sql: Sql): Promise<DiscoveryRecord[]> {
  const rows = await sql.rows<DiscoveryRow>('SELECT * FROM gleaner.discoveries ORDER BY name COLLATE "C"')
  return rows.map(recordOf)
}

export async function readDiscovery(sql: Sql, name: string): Promise<DiscoveryRecord> {
  const row = await sql.row<DiscoveryRow>('SELECT * FROM gleaner.discoveries WHERE name = $1', [name])
  if (row === undefined) throw unknownDiscovery(name)
  return recordOf(row)
}

function recordOf({ source, create_index, paused, paused_reason }: DiscoveryRow): DiscoveryRecord {
  const declared = JSON.parse(source) as DiscoverySource
  return { ...declared, paused, pausedReason: paused_reason, createIndex: create_index }
}

/** Counts each edit, an undone one too. */
function versionTrigger({ schema, table }: Shape): string {
  const name = quoted(`${table}_row_version`)
  const full = `${quoted(schema)}.${quoted(table)}`
  return [
    `ALTER TABLE ${full} ADD COLUMN row_version bigint NOT NULL DEFAULT 0;`,
    `CREATE FUNCTION ${quoted(schema)}.${name}() RETURNS trigger LANGUAGE plpgsql AS`,
    `  'BEGIN NEW.row_version := OLD.row_version + 1; RETURN NEW; END';`,
    `CREATE TRIGGER ${name} BEFORE UPDATE ON ${full} FOR EACH ROW EXECUTE FUNCTION ${quoted(schema)}.${name}();`,
  ].join('\n')
}
