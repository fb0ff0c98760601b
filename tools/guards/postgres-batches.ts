import type { Guard } from './guard.ts'

const CONFORMANCE = 'test/store/postgres.conformance.test.ts'
const OWN = 'test/store/postgres/batches.test.ts'
const KEPT = 'test/store/postgres/kept-connection.test.ts'

/** What is found by the rows of what was claimed, or finished, together. */
export const POSTGRES_BATCHES: readonly Guard[] = [
  {
    name: 'postgres: a NUL in a log line is replaced',
    promise: 'A handler that logs whatever it was given cannot stop its worker.',
    file: 'src/store/postgres/manage/logs.ts',
    find: 'storable(line.message)',
    replace: 'line.message + storable("")',
    test: {
      file: CONFORMANCE,
      title: 'a NUL in a log line, or in the words of a progress, keeps nothing from being handed in',
    },
  },
  {
    name: 'postgres: a batch is not spent before all of it is settled',
    promise: 'What a session held goes back when it ends.',
    file: 'src/store/postgres/tasks/batches.ts',
    find: '?? 0) === size ?',
    replace: '?? 0) >= size - 1 ?',
    test: {
      file: CONFORMANCE,
      title: 'what is handed in twice does not hide the rest of its batch: that still goes back',
    },
  },
  {
    name: 'postgres: what is handed in twice is one of its batch',
    promise: 'What a session held goes back when it ends.',
    file: 'src/store/postgres/tasks/batches.ts',
    find: 'if (batches.get(fence)?.has(id)) ids!.add(id)',
    replace: 'ids!.add(id)',
    test: { file: OWN, title: 'who hands in the last of a batch removes its row in the same exchange' },
  },
  {
    name: 'postgres: exchanges keep their connection',
    promise: 'An idle worker begins at once: where it asks, the server has planned what it is asked.',
    file: 'src/store/postgres/server/connections.ts',
    find: 'const isKept = (isRegular || isLent) && broken === undefined && this.#kept === undefined',
    replace: 'const isKept = false',
    test: {
      file: KEPT,
      title: 'exchanges go by one connection, whatever else the store is asked for meanwhile',
    },
  },
  {
    name: 'postgres: nobody waits for a connection that rests',
    promise: 'poolSize connections serve whoever comes.',
    file: 'src/store/postgres/server/connections.ts',
    find: '!(isRegular || this.#areTaken || this.#hasRested)',
    replace: '!(isRegular || this.#hasRested)',
    test: {
      file: KEPT,
      title: 'whoever finds no other connection gets the one that is kept > for a transaction',
    },
  },
  {
    name: 'postgres: who waits for a connection is served first',
    promise: 'poolSize connections serve whoever comes.',
    file: 'src/store/postgres/server/connections.ts',
    find: 'this.#waiting.length + this.#pool.waitingCount > 0',
    replace: 'this.#waiting.length > 0',
    test: {
      file: KEPT,
      title: 'whoever finds no other connection gets the one that is kept > and who waited for it',
    },
  },
  {
    name: 'postgres: a kept connection may break',
    promise: 'A connection that breaks takes nothing else with it.',
    file: 'src/store/postgres/server/connections.ts',
    find: "    this.#kept = client\n    client.on('error', this.#onError)\n",
    replace: "    this.#kept = client\n    client.on('error', () => {})\n",
    test: { file: KEPT, title: 'a kept connection that breaks while it rests is replaced' },
  },
  {
    name: 'postgres: batches do not pile up',
    promise: 'A session that lives for months keeps rows of what it holds only.',
    file: 'src/store/postgres/tasks/batches.ts',
    find: 'batches?.get(fence)?.delete(id)',
    replace: 'batches?.get(fence)?.has(id)',
    test: { file: OWN, title: 'the row of a batch goes when all of it is settled, however it ended' },
  },
  {
    name: 'postgres: what ended is found among those that ended',
    promise: 'A listing of finished tasks leaves none out.',
    file: 'src/store/scripts/transitions.ts',
    find: '  yield* freeing.listAsFinished(task, status, now)\n',
    replace: '',
    test: { file: 'test/store/postgres/views.test.ts', title: 'failures says what failed, and why' },
  },
  {
    name: 'postgres: what runs again is not among those that ended',
    promise: 'A task that was retried and ended again is listed once.',
    file: 'src/store/scripts/task-changes.ts',
    find: '  yield* changing.takeOffFinished(tasks)\n',
    replace: '',
    test: { file: OWN, title: 'a task that was retried is listed once when it has ended again' },
  },
  {
    name: 'postgres: the next are asked for while the last run',
    promise: 'The server works while the worker does.',
    file: 'src/worker/prefetch/policy.ts',
    find: 'return wanted && prefetched > 0 &&',
    replace: 'return wanted && prefetched < 0 &&',
    test: {
      file: 'test/store/postgres/early-claims.test.ts',
      title: 'while the server looks for the next short tasks, those of the last claim run',
    },
  },
  {
    name: 'what a worker hands in when it leaves is told',
    promise: 'Every completion is told, and before `stop` is answered.',
    file: 'src/worker/worker.ts',
    find: '    this.#exchanges.report(false)\n',
    replace: '',
    test: {
      file: 'test/store/postgres/early-claims.test.ts',
      title: 'what was asked for early and never started goes back when the worker stops',
    },
  },
  {
    name: 'what gets on slowly is not kept ahead',
    promise: 'Nobody hoards what an idle worker could do.',
    file: 'src/worker/prefetch/prefetched.ts',
    find: 'this.#lastStartsInMs(oldest, nowMs) <= HELD_MAX_MS',
    replace: 'this.size > 0',
    test: { file: 'test/worker/prefetched.test.ts', title: 'what gets on too slowly for that goes back' },
  },
  {
    name: 'what was held for long is not begun',
    promise: 'A pause that was not heard of is heeded all the same.',
    file: 'src/worker/prefetch/prefetched.ts',
    find: 'if (heldMs < STARTS_SOON_MAX_MS && this',
    replace: 'if (this',
    test: {
      file: 'test/worker/prefetched.test.ts',
      title:
        'after 150 ms all of it goes back within another 25 ms, however few are left: a pause may have been missed',
    },
  },
  {
    name: 'postgres: what is sent together is planned once',
    promise: 'Finding a row costs no planning each time.',
    file: 'src/store/postgres/server/database.ts',
    find: 'isPlannedOnce ? [PLANNED_ONCE] : []',
    replace: 'isPlannedOnce ? [] : []',
    test: {
      file: 'test/store/postgres/kept-connection.test.ts',
      title: 'what is sent together, again and again, is planned once',
    },
  },
]
