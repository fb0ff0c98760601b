import type { PlannedDiscovery } from '../../ports/rows.ts'
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
