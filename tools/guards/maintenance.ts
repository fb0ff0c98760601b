import type { Guard } from './guard.ts'

const STORES = [
  {
    store: 'sqlite',
    conformance: 'test/store/sqlite.conformance.test.ts',
    prune: 'src/store/sqlite/maintenance/prune.ts',
    remove: 'src/store/sqlite/manage/remove.ts',
    age: ['AND t.finished_at <= ${until}', 'AND t.finished_at <= ${until} + 1e15'],
    oldest: ['sql`${head} ORDER BY ${order} LIMIT', 'sql`${head} ORDER BY t.finished_at DESC LIMIT'],
    belongings: ["['gleaner_inputs', 'gleaner_logs', 'gleaner_attempts']", "['gleaner_inputs']"],
    counted: ["    tally.add(lane, 'created', -1)\n", ''],
  },
  {
    store: 'postgres',
    conformance: 'test/store/postgres.conformance.test.ts',
    prune: 'src/store/postgres/maintenance/prune.ts',
    remove: 'src/store/postgres/manage/remove.ts',
    age: ['AND f.finished_at <= ${until}', 'AND f.finished_at + 0 * CAST(${until} AS bigint) IS NOT NULL'],
    oldest: ['ORDER BY t.finished_at, t.id LIMIT', 'ORDER BY t.finished_at DESC, t.id LIMIT'],
    belongings: [
      'attempts AS (DELETE FROM gleaner.attempts WHERE task = ANY($1::bigint[]) RETURNING 1)',
      'attempts AS (SELECT 1)',
    ],
    counted: ['SELECT lane, -pg_catalog.count(*), -pg_catalog.count', 'SELECT lane, 0, -count'],
  },
] as const

const PRUNE = 'src/store/scripts/prune.ts'
const CHANGES = 'src/store/scripts/task-changes.ts'

/** The same promises, kept by each store in its own words. */
const IN_STORES: Guard[] = STORES.flatMap((store) => {
  const guard = (
    file: string,
    [find, replace]: readonly [string, string],
    name: string,
    promise: string,
    title: string,
  ): Guard => ({
    name: `${store.store}: ${name}`,
    promise,
    file,
    find,
    replace,
    test: { file: store.conformance, title },
  })
  return [
    guard(
      store.prune,
      store.age,
      'what is young is kept',
      'No task goes before its time.',
      'what finished long enough ago goes, with its logs, attempts and input',
    ),
    guard(
      PRUNE,
      ['GROUP BY c.queue HAVING', 'GROUP BY c.queue, c.name HAVING'],
      'a count is for a queue',
      'Of each queue the newest tasks are kept, whatever their names.',
      'of each queue the newest are kept, whatever their names',
    ),
    guard(
      PRUNE,
      ['gleaner.lanes WHERE id > ${position}', 'gleaner.lanes WHERE id > 0 * ${position}'],
      'every lane is looked into',
      'However many keys and names there are, what is old goes.',
      'however many lanes there are, all are looked into, some at a time',
    ),
    guard(
      store.prune,
      store.oldest,
      'the oldest go first',
      'Of each queue the newest tasks are kept, whatever their names.',
      'of each queue the newest are kept, whatever their names',
    ),
    guard(
      store.remove,
      store.belongings,
      'logs and attempts go with their task',
      'Nothing of a removed task stays in the database for ever.',
      'what finished long enough ago goes, with its logs, attempts and input',
    ),
    guard(
      store.remove,
      store.counted,
      'what is removed is taken off the counters',
      'Counts stay exact when tasks are pruned.',
      'thousands are pruned in few steps, and the counts stay exact',
    ),
    guard(
      CHANGES,
      ["(yield* freeForeverKeys(db, [id])) > 0 ? 'removed' : 'gone'", "'gone'"],
      'a key can be freed when its task is gone',
      'A key that was taken for ever ends with remove, also after its task was pruned.',
      'a key that was taken for ever outlives its task, and ends with remove',
    ),
    guard(
      CHANGES,
      ['  yield* freeForeverKeys(db, rowidsOf(tasks))\n', ''],
      'a removed task frees its key',
      'A key that was taken for ever ends with remove.',
      'a key that was taken for ever is free when its task is removed, and not before',
    ),
    guard(
      PRUNE,
      ['if (asked !== undefined && turn === null) return', 'if (asked === null) return'],
      'one process at a time prunes',
      'Ten processes do not prune at ten times the pace, and hold up the claims.',
      'one process at a time prunes: another one takes over when its turn is over',
    ),
    guard(
      PRUNE,
      ['OR s.value = ${held}', 'OR (s.value = ${held} AND false)'],
      'who prunes goes on',
      'A turn is renewed by whoever has it.',
      'one process at a time prunes: another one takes over when its turn is over',
    ),
    guard(
      PRUNE,
      ['OR s.value > ${until} OR', 'OR (s.value > ${until} AND false) OR'],
      'a wrong clock does not stop the pruning',
      'A turn taken by a clock that was years ahead does not last for years.',
      'a turn that a clock far ahead took does not stop the others',
    ),
    guard(
      PRUNE,
      ["    tell({ kind: 'ended', ids: ids.map(String) })\n", ''],
      'who waits for a pruned task is told',
      'Whoever waits for a pruned task hears that it is gone.',
      'whoever waits for a pruned task hears that it is gone',
    ),
  ]
})

const BACKUP = 'test/maintenance/backup.test.ts'
const RESTORE = 'test/maintenance/restore.test.ts'

export const MAINTENANCE: Guard[] = [
  ...IN_STORES,
  {
    name: 'sqlite: an id of a pruned task is used up',
    promise: 'Whoever still has the handle of a pruned task never gets the result of another one.',
    file: 'src/store/sqlite/manage/remove.ts',
    find: 'SET value = max(value, ?)',
    replace: 'SET value = max(value, ? * 0)',
    test: { file: STORES[0].conformance, title: 'the id of a pruned task never comes back' },
  },
  {
    name: 'postgres: what was retried since is not pruned',
    promise: 'A task that was retried, and has finished anew, is not removed for its old age.',
    file: PRUNE,
    find: 'WHERE seen.id = t.id AND seen.finished_at = coalesce(t.finished_at, 0)',
    replace: 'WHERE seen.id = t.id',
    test: {
      file: 'test/store/postgres/prune.test.ts',
      title: 'a task that is retried while it is about to be pruned stays',
    },
  },
  {
    name: 'postgres: pruning does not walk over what it removed',
    promise: 'A step costs the same however much was pruned before it.',
    file: 'src/store/postgres/maintenance/prune.ts',
    find: 'removed(tasks: readonly FinishedTask[]): void {\n',
    replace: 'removed(tasks: readonly FinishedTask[]): void {\n    if (tasks.length > 0) return\n',
    test: {
      file: 'test/store/postgres/prune.test.ts',
      title: 'a step reads no more because of what the steps before it removed',
    },
  },
  {
    name: 'pruning leaves time for work',
    promise: 'Claims get nine tenths of the time while old tasks are removed.',
    file: 'src/maintenance/pruner.ts',
    find: 'this.#next(Math.ceil(step.workMs * REST), ',
    replace: 'this.#next(0, ',
    test: {
      file: 'test/maintenance/retention.test.ts',
      title: 'rests nine times as long as a step took, and makes small ones of slow ones',
    },
  },
  {
    name: 'a test keeps what it looks at',
    promise: 'A test that moves the time by months finds what was done.',
    file: 'src/testing/open.ts',
    find: 'engineOptions.retention ?? false',
    replace: 'engineOptions.retention ?? {}',
    test: {
      file: 'test/maintenance/retention.test.ts',
      title: 'a test that moves the time keeps everything, unless it says otherwise',
    },
  },
  {
    name: 'a backup is of one moment',
    promise: 'A backup under load comes to its end, and holds no half of anything.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: "      source.raw.exec('BEGIN')\n",
    replace: '',
    test: {
      file: BACKUP,
      title: 'is of one moment, although another connection writes between any two pages',
    },
  },
  {
    name: 'a backup holds no live worker',
    promise: 'What workers of the original hold waits in the copy, although their processes are alive.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: "driveOn(db, endSession(dialect, holdings, { id: Number(id), cause: 'stop' }))",
    replace: 'Number(id)',
    test: {
      file: BACKUP,
      title: 'gives back what workers hold that live on with the original, uncharged',
    },
  },
  {
    name: 'a backup has its name when it is whole',
    promise: 'There is never a half backup under the final name.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: 'await copyPages(database, partial, tell)',
    replace: 'await copyPages(database, path, tell)',
    test: { file: BACKUP, title: 'has its name only when it is whole, and tells how far it is' },
  },
  {
    name: 'a failed backup leaves nothing',
    promise: 'A full disk is not made fuller by what is left of a backup.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: "for (const suffix of ['', ...COMPANIONS]) rmSync(",
    replace: "for (const suffix of ['-none']) rmSync(",
    test: { file: BACKUP, title: 'replaces nothing that came meanwhile, either' },
  },
  {
    name: 'a backup replaces nothing unasked',
    promise: 'Yesterday’s backup is not overwritten by mistake.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: '  if (overwrite) renameSync(partial, path)\n  else linkInPlace(partial, path)\n',
    replace: '  renameSync(partial, path)\n  if (overwrite) linkInPlace\n',
    test: { file: BACKUP, title: 'replaces nothing that came meanwhile, either' },
  },
  {
    name: 'a backup does not replace its database',
    promise: 'With { overwrite: true } nobody can lose the database itself.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: 'if (isSameFile(database, path) || ',
    replace: 'if (isSameFile(database, database.concat(path)) || ',
    test: { file: BACKUP, title: 'never takes the place of the database itself, or of one that is open' },
  },
  {
    name: 'a backup does not get the log of another',
    promise: 'What lies beside the name of a backup is not taken for a part of it.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: '  if (companion === undefined) return\n',
    replace: '  if (companion !== null) return\n',
    test: {
      file: BACKUP,
      title: 'of a log that belonged to another file is not made: it would be read as its own',
    },
  },
  {
    name: 'a restore is alone',
    promise: 'A database that somebody has open is not replaced under his feet.',
    file: 'src/store/sqlite/maintenance/restore.ts',
    find: '    closeLog(database)\n',
    replace: '',
    test: { file: RESTORE, title: 'is refused while another process has it open, and changes nothing' },
  },
  {
    name: 'a restore checks the backup first',
    promise: 'A damaged backup does not replace a sound database.',
    file: 'src/store/sqlite/maintenance/restore.ts',
    find: '  await verifyBackup(path)\n',
    replace: '',
    test: {
      file: RESTORE,
      title: 'refuses what is damaged, of another program, newer, or not there; and changes nothing',
    },
  },
  {
    name: 'an open Gleaner checks before it closes',
    promise: 'A wrong path costs nobody his running workers.',
    file: 'src/store/sqlite/maintenance/maintenance.ts',
    find: "      await job({ kind: 'verify', path })\n",
    replace: '',
    test: {
      file: RESTORE,
      title: 'with an open Gleaner checks the backup, closes it, and replaces its database',
    },
  },
  {
    name: 'space of the app is not rearranged unasked',
    promise: 'Rows of the app that have no key of their own keep their numbers.',
    file: 'src/store/sqlite/maintenance/optimize.ts',
    find: '      .get() === undefined\n',
    replace: '      .get() !== null\n',
    test: {
      file: 'test/store/sqlite/optimize.test.ts',
      title: 'free space is given back unasked where that is quick and nothing of the app is in the file',
    },
  },
]
