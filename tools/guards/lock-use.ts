import type { Guard } from './guard.ts'

/** What is said of the write lock of a file must be true. */
export const LOCK_USE: readonly Guard[] = [
  {
    name: 'lock use: a wait is counted from the first miss',
    promise: 'Metrics say how long processes wait for the write lock.',
    file: 'src/store/sqlite/file/lock-use.ts',
    find: 'if (Number.isNaN(this.#missedSinceMs)) this.#missedSinceMs = performance.now()',
    replace: 'this.#missedSinceMs = performance.now()',
    test: {
      file: 'test/observe/database-use.test.ts',
      title: 'a wait for the lock of another process is counted once, with its time',
    },
  },
]
