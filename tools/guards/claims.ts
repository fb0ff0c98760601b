import type { Guard } from './guard.ts'

/** A claim has one holder. */
export const CLAIMS: readonly Guard[] = [
  {
    name: 'a completion proves its fence',
    promise: 'A worker that woke up too late completes nothing.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'WHERE id = ? AND fence = ? AND',
    replace: 'WHERE id = ? AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a completion with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'completions in one statement prove their fence',
    promise: 'A worker that woke up too late completes nothing.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'json_each(?)) AND fence = ? AND',
    replace: 'json_each(?)) AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'completions with a stale fence are refused together, and change nothing',
    },
  },
  {
    name: 'results of their own: the session',
    promise: 'Only who holds them completes them.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'CAST(done.key AS INTEGER) AND fence = ? AND session = ?`',
    replace: 'CAST(done.key AS INTEGER) AND fence = ? AND (session = ? OR 1)`',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'completions of another session are refused together, and change nothing',
    },
  },
  {
    name: 'every other outcome proves its fence',
    promise: 'A late failure, put-off or hand-back takes no task from its new holder.',
    file: 'src/store/sqlite/tasks/transition.ts',
    find: 'WHERE id = ? AND fence = ? AND session = ?',
    replace: 'WHERE id = ? AND (fence = ? OR 1) AND session = ?',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a put-off with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'a start proves its fence',
    promise: 'A late start does not show as running what somebody else holds.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: 'started_at = ? WHERE id = ? AND fence = ? AND',
    replace: 'started_at = ? WHERE id = ? AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a start with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'a log line proves its fence',
    promise: 'A late worker does not write into the log of the new attempt.',
    file: 'src/store/sqlite/tasks/logs.ts',
    find: "coalesce(fence, ?) = ?'",
    replace: "(coalesce(fence, ?) = ? OR 1)'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a log line with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'handing in and claiming needs a live session',
    promise: 'A session that was ended gets no new work for its late results.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: 'if (!isLive(db, session)) return { answer: ended(exchange), ended: [], requeued: false, heard: false }',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'an ended session that hands in work and wants more gets nothing for it',
    },
  },
  {
    name: 'a look needs a live session',
    promise: 'A worker whose session was ended learns it although there is nothing to do.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: '  if (!isLive(db, session)) return ended(exchange)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'an ended session is told so when it only looks, and there is nothing to claim',
    },
  },
  {
    name: 'fences grow',
    promise: 'Every claim can be told from every earlier one.',
    file: 'src/store/sqlite/tasks/claim.ts',
    find: "SET value = value + 1 WHERE key = 'fence'",
    replace: "SET value = value + 0 WHERE key = 'fence'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'every new claim of a task has a new, greater fence',
    },
  },
  {
    name: 'what is held is not claimed',
    promise: 'Two claimants never get the same task.',
    file: 'src/store/sqlite/waiting/heads.ts',
    find: "const READY = `status = 'queued' AND fence IS NULL AND suspect = 0`\nexport const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect = 1`",
    replace:
      "const READY = `status = 'queued' AND suspect = 0`\nexport const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect = 1`",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what a worker holds but has not started shows as queued, and nobody else gets it',
    },
  },
  {
    name: 'what is held is not removed',
    promise: 'A running task does not vanish under its worker.',
    file: 'src/model/task-change.ts',
    find: "return held ? 'running' : 'remove'",
    replace: "return 'remove'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a task that somebody holds is not removed',
    },
  },
  {
    name: 'postgres: a completion proves its fence',
    promise: 'A worker that woke up too late completes nothing.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'tasks.fence = given.fence AND ',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a completion with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: a completion proves its session',
    promise: 'Nobody completes what another session holds.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'AND tasks.session =',
    replace: 'AND 0 <',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: "a completion with the fence of another session's claim is refused and changes nothing",
    },
  },
  {
    name: 'postgres: every other outcome proves its fence',
    promise: 'A late failure, put-off or hand-back takes no task from its new holder.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'return task?.fence === fence ? task : null',
    replace: 'return task ?? null',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a put-off with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: a start proves its fence',
    promise: 'A late start does not show as running what somebody else holds.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'tasks.fence = given.fence AND ',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a start with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: a log line proves its fence',
    promise: 'A late worker does not write into the log of the new attempt.',
    file: 'src/store/postgres/tasks/logs.ts',
    find: 'coalesce(tasks.fence, given.fence) = given.fence',
    replace: 'given.fence > 0',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a log line with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: handing in and claiming needs a live session',
    promise: 'A session that was ended gets no new work for its late results.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'if (!outlook?.live) {',
    replace: 'if (!outlook) {',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'an ended session that hands in work and wants more gets nothing for it',
    },
  },
  {
    name: 'postgres: a session lives until the commit',
    promise: 'A session that is ended while it claims leaves no task in the hands of nobody.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: ' FOR KEY SHARE OF sessions',
    replace: '',
    test: {
      file: 'test/store/postgres/sessions.test.ts',
      title: 'a session that is ended while it claims gives back what it claims, too',
    },
  },
  {
    name: 'postgres: what is held is not claimed',
    promise: 'Two claimants never get the same task.',
    file: 'src/store/postgres/waiting/conditions.ts',
    find: "const READY = 'in_line AND NOT suspect'",
    replace: "const READY = `status = 'queued' AND NOT suspect`",
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'what a worker holds but has not started shows as queued, and nobody else gets it',
    },
  },
  {
    name: 'postgres: a new life begins with new fences',
    promise: 'A fence is never given out twice.',
    file: 'src/store/postgres/server/server-life.ts',
    find: "await sql.run(\n    `SELECT pg_catalog.setval('gleaner.fence'",
    replace: "void (\n    `SELECT pg_catalog.setval('gleaner.fence'",
    test: {
      file: 'test/store/postgres/server-crash.test.ts',
      title: 'no fence is given out twice, although the server forgot that it gave it out',
    },
  },
  {
    name: 'sqlite: a session begins with new fences',
    promise: 'A fence is never given out twice.',
    file: 'src/store/sqlite/store.ts',
    find: "        write('full', () => {\n          reserveFences(db)\n",
    replace: "        write('full', () => {\n  ",
    test: {
      file: 'test/store/sqlite/fences-after-power-cut.test.ts',
      title: 'a fence that a power cut took back is not given out again',
    },
  },
  {
    name: 'postgres: the usual exchange sees that the server has lost something',
    promise: 'Nothing held is out of reach of the end of its session.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: ' AND life = $5::bigint',
    replace: ' AND ($5::bigint IS NULL OR true)',
    test: {
      file: 'test/store/postgres/server-crash.test.ts',
      title:
        'a completion that a crash of the server forgot is done again, also if the rest of its batch ends when it is back',
    },
  },
  {
    name: 'postgres: an idle worker looks whether the server has lost something',
    promise: 'What a worker handed in and the server forgot is done again.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: "  if (!memory.life.isCompared('tasks', session, outlook.life)) return null\n",
    replace: '',
    test: {
      file: 'test/store/postgres/server-crash.test.ts',
      title: 'an idle worker finds out that the server forgot what it had handed in',
    },
  },
  {
    name: 'postgres: a claim that must not be is not made',
    promise: 'Nothing is claimed by an exchange whose answer says that nothing was.',
    file: 'src/store/postgres/tasks/take.ts',
    find: ' IS NOT NULL`',
    replace: ' IS DISTINCT FROM 0`',
    test: { file: 'test/store/postgres/plain-exchange.test.ts', title: 'a pause of everything' },
  },
  {
    name: 'postgres: who ends a session waits for an exchange in one journey',
    promise: 'What was claimed while the session was ended goes back with it.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: ' FOR KEY SHARE) o',
    replace: ') o',
    test: {
      file: 'test/store/postgres/plain-exchange.test.ts',
      title: 'who ends the session while it is asked for waits for it, and finds what it claimed',
    },
  },
  {
    name: 'claims: a claim belongs to its caller',
    promise: 'A fence that another caller guesses settles nothing.',
    file: 'src/worker/claims/remote-claims.ts',
    find: 'held === null || held.caller !== by.caller',
    replace: 'held === null',
    test: {
      file: 'test/http/claims.test.ts',
      title: 'a wrong fence, a second settlement and another caller get 409 and change nothing',
    },
  },
]
