import type { Guard } from './guard.ts'

/** Nothing acknowledged is lost. */
export const DURABILITY: readonly Guard[] = [
  {
    name: 'promises are synced',
    promise: 'What enqueue acknowledged survives a power cut.',
    file: 'src/store/sqlite/store.ts',
    find: "options.durability ?? 'full'",
    replace: "options.durability ?? 'normal'",
    test: {
      file: 'test/store/sqlite/durability.test.ts',
      title: 'enqueue > is on disk before it is answered',
    },
  },
  {
    name: 'a shared commit keeps its promise',
    promise: 'What shares a commit with a claim is synced all the same.',
    file: 'src/store/sqlite/file/writer.ts',
    find: "group.some((job) => job.durability === 'full')",
    replace: "group.every((job) => job.durability === 'full')",
    test: {
      file: 'test/store/sqlite/durability.test.ts',
      title: 'what shares a commit with a promise is synced with it',
    },
  },
  {
    name: 'a failed commit is rolled back',
    promise: 'A write that fails leaves nothing behind, and the store goes on.',
    file: 'src/store/sqlite/file/writer.ts',
    find: '    } catch (error) {\n      this.#connection.rollback()\n',
    replace: '    } catch (error) {\n',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a call of which one task cannot be stored stores none, and leaves no trace',
    },
  },
  {
    name: 'closing waits for writes',
    promise: 'What was asked for before the end is done.',
    file: 'src/store/sqlite/store.ts',
    find: '      await writer.settled()\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what was asked for before the store closed is done',
    },
  },
  {
    name: 'ids never come back',
    promise: 'A handle of a removed task never means another task.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: "(SELECT value FROM gleaner_meta WHERE key = 'removed_through')) AS last",
    replace: '0) AS last',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the id of a removed task never comes back',
    },
  },
  {
    name: 'what was promised is committed with synchronous = FULL',
    promise: 'What enqueue answered survives a power cut.',
    file: 'src/store/sqlite/file/connection.ts',
    find: 'pragma(`synchronous = ',
    replace: 'pragma(`synchronous = normal -- ',
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'no enqueue is answered before its bytes are synced',
    },
  },
  {
    name: 'ctx.complete is a promise',
    promise: 'Effects and completion survive a power cut once ctx.complete has resolved.',
    file: 'src/store/sqlite/store.ts',
    find: 'const completed = await write(\n          promised,',
    replace: "const completed = await write(\n          'normal',",
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'complete is not answered before its bytes are synced',
    },
  },
  {
    name: 'cancel, retry and pause are promises',
    promise: 'What an operator was answered survives a power cut.',
    file: 'src/store/sqlite/file/scripts.ts',
    find: 'write: (script) => write(promised, ',
    replace: "write: (script) => write('normal', ",
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'cancel is not answered before its bytes are synced',
    },
  },
  {
    name: 'sqlite: after a failed sync the log is not trusted',
    promise: 'Nothing acknowledged is lost at a power cut.',
    file: 'src/store/sqlite/file/durable-log.ts',
    find: '  failed(): void {\n    this.#isTrusted = false\n',
    replace: '  failed(): void {\n',
    test: {
      file: 'test/torture/power.test.ts',
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
      file: 'test/torture/power.test.ts',
      title:
        'if the operating system forgets what it could not write, nothing is acknowledged before the database is opened anew',
    },
  },
  {
    name: 'sqlite: removed files are noticed before anything is acknowledged',
    promise: 'Nothing is acknowledged into a file that has no name any more.',
    file: 'src/store/sqlite/file/writer.ts',
    find: "      if (durability === 'full') this.#connection.mustBeInPlace()\n",
    replace: '',
    test: {
      file: 'test/store/sqlite/moved.test.ts',
      title: 'nothing is acknowledged any more when the log is removed',
    },
  },
  {
    name: 'sqlite: a log without a name is saved into the database',
    promise: 'What was acknowledged before its log was removed is not lost.',
    file: 'src/store/sqlite/file/connection.ts',
    find: 'if (!onlyLogIsGone ||',
    replace: 'if (onlyLogIsGone ||',
    test: {
      file: 'test/store/sqlite/moved.test.ts',
      title: 'what was acknowledged before its log was removed is in the database file, also after a kill',
    },
  },
  {
    name: 'postgres: a lost claim goes back',
    promise: 'What was claimed in an exchange whose answer was lost is run.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: '  if (holding === undefined) return { unknown: false, lost: [] }\n',
    replace: '  if (holding !== null) return { unknown: false, lost: [] }\n',
    test: {
      file: 'test/store/postgres/lost-answers.test.ts',
      title: 'what the lost exchange claimed goes back, and another worker runs it',
    },
  },
  {
    name: 'postgres: what is in doubt is not tried again',
    promise: 'Concurrent enqueues make no task twice when an answer is lost.',
    file: 'src/store/postgres/server/gathering.ts',
    find: ' && !isInDoubt(error)',
    replace: '',
    test: {
      file: 'test/store/postgres/lost-answers.test.ts',
      title:
        'answer: callers that shared a statement whose answer is lost all hear of it, and nothing is there twice',
    },
  },
  {
    name: 'postgres: a statement whose answer was lost is in doubt',
    promise: 'An enqueue that rejects says whether the task may have been stored.',
    file: 'src/store/postgres/server/sql-errors.ts',
    find: '      inDoubt.add(error as object)\n',
    replace: '      void inDoubt\n',
    test: {
      file: 'test/store/postgres/silent-connections.test.ts',
      title:
        'a connection that is silently dead > under enqueue: it rejects in time, and says that the task may have been stored',
    },
  },
  {
    name: 'newer databases are refused',
    promise: 'An old program does not write into tables it does not know.',
    file: 'src/store/sqlite/migrations/migrate.ts',
    find: '  refuseNewer(version, latest)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/migrations.test.ts',
      title: 'is refused with what to do, and left as it is',
    },
  },
  {
    name: 'older workers are waited for',
    promise: 'Tables do not change under a worker that writes the old way.',
    file: 'src/store/sqlite/migrations/migrate.ts',
    find: 'if (version > 0)\n',
    replace: 'if (version < 0)\n',
    test: {
      file: 'test/store/sqlite/migrations.test.ts',
      title: 'is refused while an older worker lives, and names it',
    },
  },
  {
    name: 'postgres: one process migrates',
    promise: 'Processes that start together do not change the tables twice.',
    file: 'src/store/postgres/migrations/migrate.ts',
    find: "await sql.run('SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))', [",
    replace: "await sql.run('SELECT hashtextextended($1, 0)', [",
    test: {
      file: 'test/store/postgres/migrations.test.ts',
      title: '8 engines that open a fresh schema at the same moment all work: one migrates, the others wait',
    },
  },
  {
    name: 'sqlite: a second library is refused at open',
    promise: 'Nothing is written beside another SQLite library.',
    file: 'src/store/sqlite/store.ts',
    find: '  if (!isKnown) refuseSecondLibrary(path, loadDriver(library))\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/two-libraries.test.ts',
      title: 'another copy of better-sqlite3 on the same file is refused before anything is written',
    },
  },
  {
    name: 'sqlite: a second library is noticed while running',
    promise: 'Nothing is written beside another SQLite library.',
    file: 'src/store/sqlite/drivers/second-library.ts',
    find: 'librariesUsing(this.path) > 1',
    replace: 'librariesUsing(this.path) > 2',
    test: {
      file: 'test/store/sqlite/two-libraries.test.ts',
      title:
        'node:sqlite beside better-sqlite3 on the same file is refused: at open, within, and while running',
    },
  },
]
