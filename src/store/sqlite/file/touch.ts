import { utimesSync } from 'node:fs'

/** The file of the shared memory of a database. Processes notify each other by its time stamp. */
export function sharedMemoryOf(path: string): string {
  return `${path}-shm`
}

/** Processes that watch the file notice at once. Takes some 30 µs. */
export function touch(file: string): void {
  const now = new Date()
  try {
    utimesSync(file, now, now)
  } catch {
    // A process that is not notified polls.
  }
}
