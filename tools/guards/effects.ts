import type { Guard } from './guard.ts'

/** Exactly once for effects in the same database. */
export const EFFECTS: readonly Guard[] = [
  {
    name: 'asynchronous effects are undone',
    promise: 'Effects that commit before they are finished commit nothing.',
    file: 'src/store/sqlite/tasks/effects.ts',
    find: "if (typeof (answer as PromiseLike<unknown> | undefined)?.then !== 'function') return hasEnqueued(tx)",
    replace: 'return hasEnqueued(tx)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'where effects are synchronous, an asynchronous callback writes nothing',
    },
  },
  {
    name: 'effects fail alone',
    promise: 'A handler whose effects throw takes nobody down who shares its commit.',
    file: 'src/store/sqlite/file/writer.ts',
    find: 'job.isolated ? this.#runIsolated(job) : this.#run(job)',
    replace: 'this.#run(job)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'effects that fail take nobody down who writes at the same time',
    },
  },
  {
    name: 'a completion and its effects are one transaction',
    promise: 'A kill between the two leaves both or neither.',
    file: 'src/store/sqlite/store.ts',
    find: 'const enqueued = runEffects(connection, ours, effects)\n',
    replace:
      "for (const sql of ['RELEASE gleaner_job', 'COMMIT', 'BEGIN IMMEDIATE', 'SAVEPOINT gleaner_job']) db.sql(sql).run()\n          const enqueued = runEffects(connection, ours, effects)\n",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title: 'on SQLite, killed at any point of > ctx.complete',
    },
  },
  {
    name: 'settling and its counters are one transaction',
    promise: 'Counts are right whenever a worker is killed.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: 'if (tally.write(db)) requeued = true\n  if (ended.length > 0) markUseful',
    replace:
      "db.sql('COMMIT').run()\n  db.sql('BEGIN IMMEDIATE').run()\n  if (tally.write(db)) requeued = true\n  if (ended.length > 0) markUseful",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title:
        'on SQLite, killed at any point of > claiming, running and settling, from the start of a worker to its stop',
    },
  },
  {
    name: 'a session gives everything back in one transaction',
    promise: 'A sweeper that is killed half-way does not make suspects into culprits.',
    file: 'src/store/sqlite/give-back/holdings.ts',
    find: 'applyAll(db, memory, decided, now, tally)\n',
    replace:
      "for (const one of decided) {\n                db.sql('COMMIT').run()\n                db.sql('BEGIN IMMEDIATE').run()\n                applyAll(db, memory, [one], now, tally)\n              }\n",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title:
        'on SQLite, killed at any point of > sweeping: one item, to be charged; and several, to be suspected',
    },
  },
  {
    name: 'postgres: effects and completion are one transaction',
    promise: 'A worker that is killed in the middle leaves no effect of a task that is run again.',
    file: 'src/store/postgres/server/settings.ts',
    find: "const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'",
    replace: "const BEGIN = 'SELECT 1'",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title: 'on PostgreSQL, killed at any point of > ctx.complete',
    },
  },
  {
    name: 'what follows is enqueued with the completion',
    promise: 'A task that follows exists if, and only if, the one before is completed.',
    file: 'src/worker/attempt/context.ts',
    find: 'tx === undefined ? this.#services.enqueue(...args)',
    replace: 'tx !== null ? this.#services.enqueue(...args)',
    test: {
      file: 'test/journeys/completing.test.ts',
      title: 'ctx.enqueue in the callback enqueues with the completion, or not at all',
    },
  },
  {
    name: 'within needs a transaction',
    promise: 'What was meant to be atomic with your writes is never written without them.',
    file: 'src/store/sqlite/tasks/within.ts',
    find: 'if (!raw.inTransaction) {',
    replace: 'if (raw.inTransaction === undefined) {',
    test: { file: 'test/journeys/own-transaction.test.ts', title: 'it is refused outside a transaction' },
  },
  {
    name: 'within needs the same file',
    promise: 'A task is never written to a database that no worker looks at.',
    file: 'src/store/sqlite/tasks/within.ts',
    find: 'if (!ours.connections.has(raw) && !isSameFile(raw.name, ours.path)) {',
    replace: "if (raw.name === '') {",
    test: { file: 'test/journeys/own-transaction.test.ts', title: 'it is refused on another file' },
  },
  {
    name: 'keys are unique',
    promise: 'A key makes one task, and the answer names its holder.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: '  if (holder !== null) return { id: String(holder), created: false }\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the same key twice in one call makes one task, and both answers name it',
    },
  },
  {
    name: 'keys for ever',
    promise: 'A key for ever outlives its task.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: 'active ?? forever ?? null',
    replace: 'active ?? null',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a key for ever outlives its task, and ends when the task is removed',
    },
  },
  {
    name: 'postgres: keys are locked',
    promise: 'A key makes one task, also when a transaction of the user holds it back.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: 'SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(key, 7)) FROM',
    replace: 'SELECT hashtextextended(key, 7) FROM',
    test: {
      file: 'test/store/postgres/within.test.ts',
      title: 'a key in a transaction keeps the others waiting until it ends, and never makes two',
    },
  },
  {
    name: 'postgres: keys for ever',
    promise: 'A key for ever outlives its task.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: 'SELECT key, task AS id FROM gleaner.forever_keys WHERE key = ANY($1)',
    replace: 'SELECT key, task AS id FROM gleaner.forever_keys WHERE key = ANY($1) AND false',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a key for ever outlives its task, and ends when the task is removed',
    },
  },
  {
    name: 'a follower waits for the one before it (sqlite)',
    promise: 'Two tasks of one key never run at the same time.',
    file: 'src/store/sqlite/tasks/held-key.ts',
    find: 'if (before === undefined) db.sql',
    replace: 'if (before !== null) db.sql',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: "what comes while a task is in a worker's hands runs after it (replace)",
    },
  },
  {
    name: 'a follower waits for the one before it (postgres)',
    promise: 'Two tasks of one key never run at the same time.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: 'found.filter(({ waits }) => !waits)',
    replace: 'found',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: "what comes while a task is in a worker's hands runs after it (replace)",
    },
  },
  {
    name: 'a key that somebody waits for is held (postgres)',
    promise: 'Nobody gets a key between the end of its holder and the one that follows it.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: '[keys, keys.map(followerKey)]',
    replace: '[keys, []]',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'while a task waits for the key to be free, nobody else gets it',
    },
  },
  {
    name: 'sqlite: an occurrence is taken by compare-and-set',
    promise: 'However many processes see that it is due, an occurrence is enqueued once.',
    file: 'src/store/scripts/schedules.ts',
    find: 'AND next_at = ${row.next_at} AND NOT paused',
    replace: 'AND NOT paused',
    test: {
      file: 'test/store/sqlite/schedules.test.ts',
      title: 'and was enqueued, and even ended, meanwhile, is not enqueued again',
    },
  },
  {
    name: 'postgres: an occurrence is taken by compare-and-set',
    promise: 'However many processes see that it is due, an occurrence is enqueued once.',
    file: 'src/store/scripts/schedules.ts',
    find: 'AND next_at = ${row.next_at} AND NOT paused',
    replace: 'AND NOT paused',
    test: {
      file: 'test/store/postgres/schedules.test.ts',
      title: 'and was enqueued, and even ended, meanwhile, is not enqueued again',
    },
  },
]
