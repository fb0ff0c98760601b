import type { DiscoveryRecord, DiscoverySource, PlannedDiscovery } from '../../ports/rows.ts'
import { unknownDiscovery } from '../../source.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { change, one, rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'

interface DiscoveryRow {
  name: string
  source: string
  create_index: string | null
  paused: boolean | number
  paused_reason: string | null
}

export function discoveryRecord(row: Omit<DiscoveryRow, 'name'>): DiscoveryRecord {
  return {
    ...(JSON.parse(row.source) as DiscoverySource),
    paused: Boolean(row.paused),
    pausedReason: row.paused_reason,
    createIndex: row.create_index,
  }
}

export function* listDiscoveries(db: Dialect): Script<DiscoveryRecord[]> {
  const all = yield* rows<DiscoveryRow>(sql`SELECT * FROM gleaner.discoveries ORDER BY name ${db.bytewise}`)
  return all.map(discoveryRecord)
}

export function* readDiscovery(name: string): Script<DiscoveryRecord> {
  const row = yield* one<DiscoveryRow>(sql`SELECT * FROM gleaner.discoveries WHERE name = ${name}`)
  if (row === undefined) throw unknownDiscovery(name)
  return discoveryRecord(row)
}

/** A declaration that fits its table. */
export interface ValidDeclaration {
  declared: DiscoverySource
  planned: PlannedDiscovery
}

/** The declarations that are not stored like that. Almost every start finds none. */
export function* changedPlans<Valid extends ValidDeclaration>(
  db: Dialect,
  plans: readonly Valid[],
): Script<Valid[]> {
  const names = plans.map(({ declared }) => declared.name)
  const stored = yield* rows<DiscoveryRow>(
    sql`SELECT name, source, create_index FROM gleaner.discoveries WHERE name ${db.oneOf(names)}`,
  )
  const before = new Map(stored.map((row) => [row.name, row]))
  return plans.filter(({ declared, planned }) => {
    const row = before.get(declared.name)
    return row?.source !== JSON.stringify(declared) || row.create_index !== planned.createIndex
  })
}

/** In the order of their names, so that two processes that plan the same discoveries do not wait for each other. */
export function* writePlans(db: Dialect, plans: readonly ValidDeclaration[]): Script<void> {
  yield* change(sql`UPDATE ${db.schema.settings} SET value = value + 1 WHERE key = 'discoveries'`)
  const inOrder = plans.toSorted((one, other) => (one.declared.name < other.declared.name ? -1 : 1))
  for (const { declared, planned } of inOrder) {
    yield* forgetOtherKeys(db, declared)
    yield* change(sql`
      INSERT INTO gleaner.discoveries (name, source, create_index)
      VALUES (${declared.name}, ${JSON.stringify(declared)}, ${planned.createIndex})
      ON CONFLICT (name) DO UPDATE SET source = excluded.source, create_index = excluded.create_index, position = NULL`)
  }
}

/** If the key has other columns now, claims and entries of the ledger no longer name rows. */
function* forgetOtherKeys(db: Dialect, { name, table, key }: DiscoverySource): Script<void> {
  const row = yield* one<DiscoveryRow>(
    sql`SELECT source FROM gleaner.discoveries WHERE name = ${name} ${db.forUpdate}`,
  )
  if (row === undefined) return
  const before = JSON.parse(row.source) as DiscoverySource
  if (before.table === table && JSON.stringify(before.key) === JSON.stringify(key)) return
  yield* change(sql`DELETE FROM gleaner.claims WHERE discovery = ${name}`)
  yield* change(sql`DELETE FROM gleaner.ledger WHERE discovery = ${name}`)
}

/** False: the discovery was paused before. */
export function* pauseBroken(name: string, reason: string): Script<boolean> {
  const changed = yield* change(sql`
    UPDATE gleaner.discoveries SET paused = ${true}, paused_reason = ${reason} WHERE name = ${name} AND paused = ${false}`)
  return changed > 0
}

/** An operator pauses it, for no stored reason, or resumes it. */
export function* setDiscoveryPaused(name: string, paused: boolean): Script<void> {
  const changed = yield* change(
    sql`UPDATE gleaner.discoveries SET paused = ${paused}, paused_reason = NULL WHERE name = ${name}`,
  )
  if (changed === 0) throw unknownDiscovery(name)
}
