import type { DiscoverySource, PlannedDiscovery } from '../../ports/rows.ts'
import type { ValidDeclaration } from '../../scripts/rows/discoveries.ts'
import type { Statements } from '../file/statements.ts'
import { missingIndex } from './index-advice.ts'
import { shapeOf, validateSource } from './shape.ts'
import { quoted, type RowSource } from './source-sql.ts'

/** Validates all of them before anything is written. */
export function validateSources(db: Statements, sources: readonly DiscoverySource[]): ValidDeclaration[] {
  return sources.map((declared) => {
    const rows = validateSource(db, declared)
    return { declared: rows.source, planned: plannedOf(db, rows) }
  })
}

function plannedOf(db: Statements, rows: RowSource): PlannedDiscovery {
  const { source, columns } = rows
  return {
    name: source.name,
    columns,
    createIndex: missingIndex(db, source, shapeOf(db, source.table)),
    versionTrigger: source.version === null ? versionTrigger(source) : null,
    // The file itself tells of each commit.
    wakeTrigger: null,
  }
}

/** Counts each edit, an undone one too; what the trigger itself writes does not fire it again. */
function versionTrigger({ table, key }: DiscoverySource): string {
  const name = quoted(`${table}_row_version`)
  const same = key.map((column) => `${quoted(column)} = new.${quoted(column)}`).join(' AND ')
  return [
    `ALTER TABLE ${quoted(table)} ADD COLUMN row_version INTEGER NOT NULL DEFAULT 0;`,
    `CREATE TRIGGER ${name} AFTER UPDATE ON ${quoted(table)} WHEN new.row_version = old.row_version`,
    `BEGIN UPDATE ${quoted(table)} SET row_version = old.row_version + 1 WHERE ${same}; END;`,
  ].join('\n')
}
