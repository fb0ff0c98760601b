/** How an SQL statement begins: enough to tell one from prose, as in "Update the package" or "Select a queue". */
const STATEMENTS = [
  /^select\b.+\bfrom\b/is,
  /^(insert|replace)\s+(or\s+\w+\s+)?into\b/i,
  /^update\s+(or\s+\w+\s+)?\S+\s+(as\s+\w+\s+)?set\b/i,
  /^delete\s+from\b/i,
  /^with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s+((not\s+)?materialized\s+)?\(/i,
  /^(create|alter|drop)\s+(temp\s+|temporary\s+|unique\s+|or\s+replace\s+)?(table|index|view|trigger|function)\b/i,
  /^pragma\s+\w+/i,
  /^begin\s+(immediate|exclusive|deferred|transaction)\b/i,
  /^vacuum\s+into\b/i,
]

const COMMENTS = /^(\s|--[^\n]*\n|\/\*.*?\*\/)+/s

export function looksLikeSql(text: string): boolean {
  const statement = text.replace(COMMENTS, '')
  return STATEMENTS.some((beginning) => beginning.test(statement))
}
