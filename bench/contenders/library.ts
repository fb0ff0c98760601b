/** `--sqlite`: the library that opens the file, for Gleaner and for the app beside it. */
export const LIBRARY = process.env.BENCH_SQLITE === 'node:sqlite' ? 'node:sqlite' : 'better-sqlite3'
