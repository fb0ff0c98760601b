import type { Guard } from './guard.ts'

/** Backups, copies and pruning lose nothing. */
export const MAINTENANCE: readonly Guard[] = [
  {
    name: 'a backup is of one moment',
    promise: 'A backup under load comes to its end, and holds no half of anything.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: "      source.raw.exec('BEGIN')\n",
    replace: '',
    test: {
      file: 'test/maintenance/backup.test.ts',
      title: 'is of one moment, although another connection writes between any two pages',
    },
  },
  {
    name: 'a backup has its name when it is whole',
    promise: 'There is never a half backup under the final name.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: 'await copyPages(database, partial, tell)',
    replace: 'await copyPages(database, path, tell)',
    test: {
      file: 'test/maintenance/backup.test.ts',
      title: 'has its name only when it is whole, and tells how far it is',
    },
  },
  {
    name: 'a backup does not replace its database',
    promise: 'With { overwrite: true } nobody can lose the database itself.',
    file: 'src/store/sqlite/maintenance/backup.ts',
    find: 'if (isSameFile(database, path) || ',
    replace: 'if (isSameFile(database, database.concat(path)) || ',
    test: {
      file: 'test/maintenance/backup.test.ts',
      title: 'never takes the place of the database itself, or of one that is open',
    },
  },
  {
    name: 'a restore is alone',
    promise: 'A database that somebody has open is not replaced under his feet.',
    file: 'src/store/sqlite/maintenance/restore.ts',
    find: '    createFileFor(database, { copyOf: path })\n    closeLog(database)\n',
    replace: '    createFileFor(database, { copyOf: path })\n',
    test: {
      file: 'test/maintenance/restore.test.ts',
      title: 'is refused while another process has it open, and changes nothing',
    },
  },
  {
    name: 'a restore checks the backup first',
    promise: 'A damaged backup does not replace a sound database.',
    file: 'src/store/sqlite/maintenance/restore.ts',
    find: '  await verifyBackup(path)\n',
    replace: '',
    test: {
      file: 'test/maintenance/restore.test.ts',
      title: 'refuses what is damaged, of another program, newer, or not there; and changes nothing',
    },
  },
  {
    name: 'copy: refused while in use',
    promise: 'Nothing is copied that somebody works on meanwhile: it would be run twice.',
    file: 'src/store/sqlite/maintenance/copy-source.ts',
    find: '      await connection.hold()\n      refuseWhileUsed(connection)\n',
    replace: '      await connection.hold()\n',
    test: {
      file: 'test/maintenance/copy.test.ts',
      title: 'is refused while a worker lives there, and says who',
    },
  },
  {
    name: 'copy: only into what is empty',
    promise: 'Two databases are never mixed.',
    file: 'src/store/postgres/maintenance/copy-target.ts',
    find: '      await refuseFull(sql)\n      return work',
    replace: '      return work',
    test: {
      file: 'test/maintenance/copy.test.ts',
      title: 'into a schema that holds something is refused, twice as well',
    },
  },
  {
    name: 'copy: one transaction',
    promise: 'Nothing is ever half-copied.',
    file: 'src/store/postgres/maintenance/copy-target.ts',
    find: '    return database.transaction(async (sql) => {\n      await lockTables(sql)\n',
    replace: "    return database.transaction(async (sql) => {\n      await sql.run('COMMIT')\n",
    test: {
      file: 'test/maintenance/copy.test.ts',
      title: 'killed in the middle, leaves nothing, and is done by the next one',
    },
  },
  {
    name: 'copy: both sides are compared',
    promise: 'What is said to be copied was counted on both sides.',
    file: 'src/store/by-url/copy.ts',
    find: '      refuseDifference(counted, there)\n',
    replace: '',
    test: { file: 'test/maintenance/copy.test.ts', title: 'is undone when the two sides differ in the end' },
  },
  {
    name: 'sqlite: what is young is kept',
    promise: 'No task goes before its time.',
    file: 'src/store/sqlite/maintenance/prune.ts',
    find: 'AND t.finished_at <= ${until}',
    replace: 'AND t.finished_at <= ${until} + 1e15',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what finished long enough ago goes, with its logs, attempts and input',
    },
  },
  {
    name: 'postgres: what is young is kept',
    promise: 'No task goes before its time.',
    file: 'src/store/postgres/maintenance/prune.ts',
    find: 'AND f.finished_at <= ${until}',
    replace: 'AND f.finished_at + 0 * CAST(${until} AS bigint) IS NOT NULL',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'what finished long enough ago goes, with its logs, attempts and input',
    },
  },
  {
    name: 'postgres: what was retried since is not pruned',
    promise: 'A task that was retried, and has finished anew, is not removed for its old age.',
    file: 'src/store/scripts/prune.ts',
    find: 'WHERE seen.id = t.id AND seen.finished_at = coalesce(t.finished_at, 0)',
    replace: 'WHERE seen.id = t.id',
    test: {
      file: 'test/store/postgres/prune.test.ts',
      title: 'a task that is retried while it is about to be pruned stays',
    },
  },
  {
    name: 'an empty filter is refused',
    promise: 'Nobody removes everything by mistake.',
    file: 'src/queue/bulk.ts',
    find: 'if (Object.keys(filter).length === 0 && options.all !== true)',
    replace: 'if (filter.status === null)',
    test: { file: 'test/queue/bulk.test.ts', title: 'an empty filter is refused, unless all is said' },
  },
  {
    name: 'tasks that come later are left alone (sqlite)',
    promise: 'A bulk change ends, though others enqueue all the time.',
    file: 'src/queue/bulk.ts',
    find: '        upTo = done.upTo\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'tasks that come while it goes on are left alone',
    },
  },
  {
    name: 'init overwrites nothing',
    promise: 'gleaner init never destroys what is there.',
    file: 'src/cli/commands/init.ts',
    find: '    refuseToOverwrite(target, Object.keys(files))\n',
    replace: '    if (target === "") refuseToOverwrite(target, Object.keys(files))\n',
    test: {
      file: 'test/cli/commands.test.ts',
      title: 'overwrites nothing, and writes nothing beside gleaner.config.mjs',
    },
  },
]
