import type { Guard } from './guard.ts'

const POWER = 'test/torture/power.test.ts'
const MOVED = 'test/store/sqlite/moved.test.ts'

/** What a disk that fails, and programs that remove files, must not break. */
export const SQLITE_FILES: readonly Guard[] = [
  {
    name: 'sqlite: after a failed sync the log is not trusted',
    promise: 'Nothing acknowledged is lost at a power cut.',
    file: 'src/store/sqlite/file/durable-log.ts',
    find: '    this.#isTrusted = false\n',
    replace: '',
    test: {
      file: POWER,
      title: 'a failed sync refuses what it was for; what follows is synced anew with all before it',
    },
  },
  {
    name: 'sqlite: what the operating system forgot is noticed',
    promise: 'Nothing is acknowledged that depends on what is gone.',
    file: 'src/store/sqlite/file/durable-log.ts',
    find: 'if (verified.frames < seen.log)',
    replace: 'if (verified.frames < 0)',
    test: {
      file: POWER,
      title:
        'if the operating system forgets what it could not write, nothing is acknowledged before the database is opened anew',
    },
  },
  {
    name: 'sqlite: after a failed sync of the database, pages that were copied before are written again',
    promise: 'Nothing acknowledged is lost at a power cut.',
    file: 'src/store/sqlite/file/connection.ts',
    find: "      if (mode !== 'NOOP' && !this.#pages.ensure()) throw new Busy()\n",
    replace: '',
    test: {
      file: POWER,
      title: 'a failed sync of the database takes nothing that was copied before it',
    },
  },
  {
    name: 'sqlite: removed files are noticed before anything is acknowledged',
    promise: 'Nothing is acknowledged into a file that has no name any more.',
    file: 'src/store/sqlite/file/writer.ts',
    find: "      if (durability === 'full') this.#connection.mustBeInPlace()\n",
    replace: '',
    test: { file: MOVED, title: 'nothing is acknowledged any more when the log is removed' },
  },
  {
    name: 'sqlite: a log without a name is saved into the database',
    promise: 'What was acknowledged before its log was removed is not lost.',
    file: 'src/store/sqlite/file/connection.ts',
    find: 'if (!onlyLogIsGone ||',
    replace: 'if (onlyLogIsGone ||',
    test: {
      file: MOVED,
      title: 'what was acknowledged before its log was removed is in the database file, also after a kill',
    },
  },
  {
    name: 'sqlite: a log that a reader held is looked at again',
    promise: 'A long reader does not leave a large log behind.',
    file: 'src/store/sqlite/file/checkpoints.ts',
    find: '    if (isOversized && busy !== 0) this.#lookWhileOversized()\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/long-reader.test.ts',
      title: 'a reader that holds the log open is warned of, and the log is short again when it is gone',
    },
  },
]
