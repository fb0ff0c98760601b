import type { Guard } from './guard.ts'

/** Limits, pauses, order and waking hold. */
export const LIMITS: readonly Guard[] = [
  {
    name: 'sqlite: what is claimed is counted',
    promise: 'No more run at the same time than the limit says.',
    file: 'src/store/limit-counter.ts',
    find: '    this.#held += starting + prefetched\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'no more of a queue are held than its limit says, by all stores together',
    },
  },
  {
    name: 'postgres: what is claimed is counted',
    promise: 'No more run at the same time than the limit says.',
    file: 'src/store/limit-counter.ts',
    find: '    this.#held += starting + prefetched\n',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'no more of a queue are held than its limit says, by all stores together',
    },
  },
  {
    name: 'what is prefetched counts until it may have started',
    promise: 'No more start in a time than the rate says, however late they start.',
    file: 'src/store/limit-counter.ts',
    find: '{ count: prefetched, lateMs: LATE_START_MS }',
    replace: '{ count: prefetched }',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'under a rate as little is prefetched as never matters, and counts until it may have started',
    },
  },
  {
    name: 'what a rate has counted does not start too late',
    promise: 'A rate holds although tasks are prefetched under it.',
    file: 'src/worker/executor.ts',
    find: 'if (this.#mayStart(next, askedMs))',
    replace: 'if (this.#mayStart(next, askedMs) || next !== undefined)',
    test: {
      file: 'test/worker/in-flight.test.ts',
      title: 'what a rate has counted starts in time, or goes back with all that was claimed with it',
    },
  },
  {
    name: 'sqlite: a limit counts what was held before it',
    promise: 'A limit that comes while something runs is not exceeded by it.',
    file: 'src/store/sqlite/limits/counters.ts',
    find: 'WHERE l.queue = ?)) RETURNING id',
    replace: 'WHERE l.queue = ? AND 0)) RETURNING id',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a limit counts what was held before it came, and lets it end',
    },
  },
  {
    name: 'the pause of everything',
    promise: 'While everything is paused nobody claims anything.',
    file: 'src/store/sqlite/limits/claim-scope.ts',
    find: '  if (paused !== 0) return { ...EMPTY_SCOPE, paused: true }\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the pause of everything holds for all queues, also for those that come later',
    },
  },
  {
    name: 'the pause of a queue',
    promise: 'A paused queue gives nothing.',
    file: 'src/store/sqlite/limits/claim-scope.ts',
    find: 'return !pausedQueues.has(queue) && (',
    replace: 'return pausedQueues.size >= 0 && (',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a paused queue gives nothing, to no store, until it is resumed; others go on',
    },
  },
  {
    name: 'postgres: the pause of everything',
    promise: 'While everything is paused nobody claims anything.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: 'want === null || row.everything',
    replace: 'want === null',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'the pause of everything holds for all queues, also for those that come later',
    },
  },
  {
    name: 'postgres: the pause of a queue',
    promise: 'A paused queue gives nothing.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: 'lanes.open(want.able, row.queues)',
    replace: 'lanes.open(want.able)',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a paused queue gives nothing, to no store, until it is resumed; others go on',
    },
  },
  {
    name: 'the last is first',
    promise: 'A lifo queue is worked off from its end.',
    file: 'src/store/sqlite/waiting/heads.ts',
    find: "return lastFirst ? 'ORDER BY rank DESC, id DESC'",
    replace: "return lastFirst ? 'ORDER BY rank, id'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'lifo: the last to become due is first, of each name and of one call',
    },
  },
  {
    name: 'postgres: the last is first',
    promise: 'A lifo queue is worked off from its end.',
    file: 'src/store/postgres/tasks/take.ts',
    find: "backwards ? ['-', 'DESC'] : ['', '']",
    replace: "['', '']",
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'lifo: the last to become due is first, of each name and of one call',
    },
  },
  {
    name: 'queues have turns',
    promise: 'A full queue does not starve another.',
    file: 'src/store/sqlite/tasks/next-tasks.ts',
    find: '  if (last !== undefined) memory.turns.served(want.able, last)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'one at a time, too, nobody waits behind the many of another queue',
    },
  },
  {
    name: 'what is of an era before is re-ranked',
    promise: 'A new order holds for what waits.',
    file: 'src/store/sqlite/order/ordering.ts',
    find: "      ['rank < ?', start],\n",
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a new order holds for what waits, in short steps, while work goes on',
    },
  },
  {
    name: 'other processes are woken',
    promise: 'An idle worker in another process picks up at once.',
    file: 'src/store/sqlite/file/wake-watch.ts',
    find: "this.#options.onSignal('work')",
    replace: '',
    test: {
      file: 'test/journeys/waking.test.ts',
      title: 'an idle worker in another process picks up at once, although it would look only in minutes',
    },
  },
  {
    name: 'an idle worker looks by itself',
    promise: 'Losing every wake-up costs latency, never work.',
    file: 'src/worker/polling.ts',
    find: 'this.#nextLookMs(inFlight.running > 0)',
    replace: 'inFlight.running > 0 ? this.#nextLookMs(true) : Number.POSITIVE_INFINITY',
    test: { file: 'test/journeys/waking.test.ts', title: 'losing every wake-up costs latency only' },
  },
  {
    name: 'a worker knows when the next task is due',
    promise: 'A delayed task starts when its time comes.',
    file: 'src/worker/polling.ts',
    find: 'reasons.push(source.nextDueMs - nowMs)',
    replace: '',
    test: {
      file: 'test/journeys/waking.test.ts',
      title: 'a task whose time comes is picked up then, although nothing wakes anybody',
    },
  },
  {
    name: 'postgres: a new subscription looks',
    promise: 'What was enqueued while the listener was deaf is found.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: "        if (this.#client !== undefined) this.#tell({ kind: 'elsewhere' })\n",
    replace: '',
    test: {
      file: 'test/store/postgres/wakeups.test.ts',
      title: 'subscribes again, and finds what was enqueued while it was deaf',
    },
  },
  {
    name: 'postgres: dead rows are kept off',
    promise:
      'A transaction held open somewhere does not make every claim step over all that was claimed before.',
    file: 'src/store/postgres/tasks/low-water.ts',
    find: '    if (this.walkAgainInMs() === 0) return wholePath(ways)\n',
    replace: '    return wholePath(ways)\n',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'a claim steps over the last batch of dead rows, not over all 30 000 that nobody can clean away',
    },
  },
  {
    name: 'postgres: marks are not for ever',
    promise: 'A task that was given back behind a mark is found again.',
    file: 'src/store/postgres/tasks/low-water.ts',
    find: 'this.#clock.monotonicMs() + restMs',
    replace: 'Number.POSITIVE_INFINITY',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'a task that was given back keeps its place, and is the next within a second',
    },
  },
  {
    name: 'resources: nothing is claimed without them',
    promise: 'What needs an unavailable resource is not claimed.',
    file: 'src/worker/sources/tasks.ts',
    find: 'filter((name) => !without.includes(name))',
    replace: 'filter((name) => without.length > 0 || name)',
    test: {
      file: 'test/worker/resources/availability.test.ts',
      title: 'keeps what needs it from being claimed, and nothing else',
    },
  },
  {
    name: 'resources: the attempt is returned',
    promise: 'An item pays nothing for a broken worker.',
    file: 'src/worker/attempt/outcome-of-error.ts',
    find: '  if (error instanceof ResourceError) return broken(attempt, error)\n',
    replace: '',
    test: {
      file: 'test/worker/resources/errors.test.ts',
      title: 'returns the attempt, and the item backs off',
    },
  },
  {
    name: 'resources: ten in a row end the worker',
    promise: 'A broken worker does not put off the whole queue.',
    file: 'src/worker/state/worker-state.ts',
    find: '    this.#onFailed()\n',
    replace: '',
    test: {
      file: 'test/worker/resources/errors.test.ts',
      title: 'as often as the worker was told ends it, and fails whoever waits for it to be drained',
    },
  },
  {
    name: 'resources: nothing is unloaded under a run',
    promise: 'A handler has its model until it returns.',
    file: 'src/worker/resources/instance.ts',
    find: 'if (instance === undefined || this.#users > 0) return',
    replace: 'if (instance === undefined) return',
    test: {
      file: 'test/worker/resources/unloading.test.ts',
      title: 'is left to a run that outlives its worker: it is not unloaded under its feet',
    },
  },
]
