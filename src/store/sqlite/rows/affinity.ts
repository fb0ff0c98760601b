/** By its declared type, as SQLite decides it. */
export function affinityOf(type: string): 'INTEGER' | 'TEXT' | 'BLOB' | 'REAL' | 'NUMERIC' {
  if (/int/i.test(type)) return 'INTEGER'
  if (/char|clob|text/i.test(type)) return 'TEXT'
  if (type === '' || /blob|^any$/i.test(type)) return 'BLOB'
  return /real|floa|doub/i.test(type) ? 'REAL' : 'NUMERIC'
}
