import type { Guard } from './guard.ts'

const TWO = 'test/store/sqlite/two-libraries.test.ts'

/** Two SQLite libraries in one process take away each other's locks. */
export const SQLITE_LIBRARIES: readonly Guard[] = [
  {
    name: 'sqlite: a second library is refused at open',
    promise: 'Nothing is written beside another SQLite library.',
    file: 'src/store/sqlite/store.ts',
    find: '  if (!isKnown) refuseSecondLibrary(path, loadDriver(library))\n',
    replace: '',
    test: {
      file: TWO,
      title: 'another copy of better-sqlite3 on the same file is refused before anything is written',
    },
  },
  {
    name: 'sqlite: a second library is refused before a restore',
    promise: 'Nothing is written beside another SQLite library.',
    file: 'src/store/sqlite/maintenance/jobs.ts',
    find: '    for (const file of closedFiles(job)) refuseSecondLibrary(file, driver)\n',
    replace: '',
    test: {
      file: TWO,
      title: 'restoring, copying and diagnosing refuse another library on a file that is not open here',
    },
  },
  {
    name: 'sqlite: a second library is noticed while running',
    promise: 'Nothing is written beside another SQLite library.',
    file: 'src/store/sqlite/drivers/second-library.ts',
    find: 'librariesUsing(this.path) > 1',
    replace: 'librariesUsing(this.path) > 2',
    test: {
      file: TWO,
      title:
        'node:sqlite beside better-sqlite3 on the same file is refused: at open, within, and while running',
    },
  },
]
