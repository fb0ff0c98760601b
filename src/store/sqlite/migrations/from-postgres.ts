const TYPES: readonly (readonly [RegExp, string])[] = [
  [/bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY/g, 'INTEGER PRIMARY KEY AUTOINCREMENT'],
  [/\b(bigint|integer|boolean)\b/g, 'INTEGER'],
  [/\bdouble precision\b/g, 'REAL'],
  [/\btext\b/g, 'TEXT'],
  [/\bDEFAULT false\b/g, 'DEFAULT 0'],
  [/\bDEFAULT true\b/g, 'DEFAULT 1'],
]

/** The tables of a shared migration as SQLite writes them. */
export function fromPostgres(text: string): string {
  return text.replaceAll(/(CREATE[^;]*);/g, (_, statement: string) => `${statementOf(statement)};`)
}

function statementOf(statement: string): string {
  const named = statement
    .replace(/^CREATE (UNIQUE )?INDEX (\w+)/, 'CREATE $1INDEX gleaner_$2')
    .replaceAll('gleaner.', 'gleaner_')
  return statement.startsWith('CREATE TABLE') ? tableOf(named) : named
}

/** Without an identity, rows are stored in the order of their primary key. Storage options are PostgreSQL's. */
function tableOf(statement: string): string {
  const columns = statement.slice(0, statement.lastIndexOf('\n)'))
  const typed = TYPES.reduce((text, [type, own]) => text.replaceAll(type, own), columns)
  return `${typed}\n) STRICT${typed.includes('AUTOINCREMENT') ? '' : ', WITHOUT ROWID'}`
}
