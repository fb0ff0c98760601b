import '../node-version.ts'

export { RunLimitError, RunStuckError } from './errors.ts'
export { openTestGleaner } from './open.ts'
export type { RecordOf } from './records.ts'
export type { SqliteConnection, TestGleaner, TestGleanerOptions } from './test-gleaner.ts'
