/** What the child is to do: run these test files with this mutant in place. */
export interface Order {
  run: number
  file: string
  /** The code of `file`; undefined: as it is. */
  mutated: string | undefined
  /** The modules that are loaded anew. */
  anew: readonly string[]
  tests: readonly Tests[]
}

export interface Answer {
  run: number
  /** Null: every test passed. */
  failure: string | null
}

/** The tests of a file; `groups`: only those of groups with these titles. */
export interface Tests {
  file: string
  groups?: readonly string[]
}
