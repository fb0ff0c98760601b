/** What can be known of a database without changing anything in it. */
export interface Diagnosis {
  /** `SQLite 3.51.3`, `PostgreSQL 18.0`. */
  server: string
  /** Of Gleaner's tables; 0: there are none yet. Null: there is not even a database, the first start makes one. */
  version: number | null
  /** What this Gleaner knows. */
  latest: number
  /** What does not fit, each with what to do. */
  troubles: readonly { message: string; fix: string }[]
  /** What works and should be changed nevertheless, each with what to do. */
  notes: readonly { message: string; fix: string }[]
}
