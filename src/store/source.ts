import { InputError } from '../errors.ts'
import type { DiscoverySource } from './ports/rows.ts'

/** What both stores ask of a declaration before they look at the table. */

export interface OrderColumn {
  column: string
  descending: boolean
}

export function badDiscovery(name: string, problem: string, hint?: string, cause?: unknown): InputError {
  return new InputError(`discovery ${name}: ${problem}`, { code: 'BAD_DISCOVERY', hint, cause })
}

export function unknownDiscovery(name: string): InputError {
  return new InputError(`there is no discovery ${name}`, {
    code: 'UNKNOWN_DISCOVERY',
    hint: 'Give its definition to openGleaner({ discoveries }) first.',
  })
}

/** `columns` in words, for a hint. */
export function realColumns(table: string, columns: readonly string[]): string {
  return `${table} has: ${columns.join(', ')}.`
}

/** Whatever the source names must be there. */
export function checkColumns(source: DiscoverySource, columns: readonly string[]): void {
  const { name, table, key, version } = source
  if (key.length === 0) throw badDiscovery(name, 'its key names no column', realColumns(table, columns))
  const named = [
    ...key.map((column) => ['key', column] as const),
    ...(version === null ? [] : [['version', version] as const]),
    ...orderOf(source).map(({ column }) => ['orderBy', column] as const),
  ]
  for (const [role, column] of named) {
    if (columns.includes(column)) continue
    throw badDiscovery(name, `${role}: there is no column ${column}`, realColumns(table, columns))
  }
}

/**
 * A row with NULL in a part of its key would never be found, although it has a name in the eyes of its app. A key of one
 * column may be NULL: a row that has none yet needs no work yet.
 */
export function checkNotNull(
  { name, table, key }: DiscoverySource,
  nullable: (column: string) => boolean,
  setNotNull: (column: string) => string,
): void {
  const column = key.length > 1 ? key.find(nullable) : undefined
  if (column === undefined) return
  throw badDiscovery(name, `key: ${column} of ${table} may be NULL`, setNotNull(column))
}

/** Whether a condition says `column = …`, perhaps: an index that begins with it may help. */
export function isFixed(column: string, where: string): boolean {
  const at = where.toLowerCase().indexOf(column.toLowerCase())
  return at >= 0 && /^"?\s*=/.test(where.slice(at + column.length))
}

/** `a DESC, "b"`: columns only, because where to go on must be found again by their values. */
export function orderOf({ name, orderBy }: DiscoverySource): OrderColumn[] {
  if (orderBy === null) return []
  return orderBy.split(',').map((part) => {
    const match = /^\s*(?:"((?:[^"]|"")+)"|([A-Za-z_][A-Za-z0-9_$]*))(?:\s+(asc|desc))?\s*$/i.exec(part)
    if (match === null) {
      const hint = 'Use columns, each with ASC or DESC: `priority DESC, created_at`.'
      throw badDiscovery(name, `orderBy: ${JSON.stringify(orderBy)} is not a list of columns`, hint)
    }
    const [, quoted, plain, direction] = match
    return {
      column: quoted === undefined ? plain! : quoted.replaceAll('""', '"'),
      descending: direction?.toLowerCase() === 'desc',
    }
  })
}

const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|\$([A-Za-z_]*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|::|[\s\S]/g

/**
 * The condition is put into our statements between brackets: it must not reach beyond them. Whether it means something is
 * for the database to say.
 */
export function checkCondition({ name, where }: DiscoverySource, parameter = /^[?:$@]$/): void {
  const bad = (problem: string, hint: string) => badDiscovery(name, `where: ${problem}`, hint)
  const hint = 'Use one condition, as it would stand after WHERE: `needs_tagging = 1 AND is_valid = 1`.'
  if (where.trim() === '') throw bad('it is empty', hint)
  let depth = 0
  for (const [token] of where.matchAll(TOKEN)) {
    if (token === ';') throw bad('it holds a second statement', hint)
    if (parameter.test(token)) {
      throw bad(
        `it holds a parameter or an operator with ${token}`,
        'Write the value itself into the condition.',
      )
    }
    if (token === "'" || token === '"' || token === '`') throw bad(`a ${token} is not closed`, hint)
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (depth < 0) throw bad('a bracket is closed that was not opened', hint)
  }
  if (depth > 0) throw bad('a bracket is not closed', hint)
}
