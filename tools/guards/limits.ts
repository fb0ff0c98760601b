import type { Guard } from './guard.ts'

type Change = readonly [find: string, replace: string]

const STORES = [
  {
    store: 'sqlite',
    conformance: 'test/store/sqlite.conformance.test.ts',
    gates: 'src/store/sqlite/limits/counters.ts',
    turnstiles: 'src/store/sqlite/limits/ready-keys.ts',
    opens: ['if (was_full === 1) full.push(id)', 'if (was_full === 2) full.push(id)'],
    turn: [
      'UPDATE gleaner_turnstiles SET turn = ? WHERE lane IN',
      'UPDATE gleaner_turnstiles SET turn = turn - 0 * ? WHERE lane IN',
    ],
    idle: ['gate.isIdle(now) && isUnused(db, lane)', 'isUnused(db, lane)'],
    suspects: ['if (gate.room(now) > 0) return { ...head', 'if (gate !== null) return { ...head'],
    replanned: [
      'WHERE ready = 0 AND gate IN (SELECT id FROM gleaner.gates',
      'WHERE ready = 2 AND gate IN (SELECT id FROM gleaner.gates',
    ],
    before: ['WHERE l.queue = ?)) RETURNING id', 'WHERE l.queue = ? AND 0)) RETURNING id'],
  },
  {
    store: 'postgres',
    conformance: 'test/store/postgres.conformance.test.ts',
    gates: 'src/store/postgres/limits/counters.ts',
    turnstiles: 'src/store/postgres/limits/ready-keys.ts',
    opens: ['       OR gate IN (SELECT id FROM lowered WHERE was_full))`', '       OR false)`'],
    turn: [
      "`UPDATE gleaner.turnstiles SET turn = pg_catalog.nextval('gleaner.turns') WHERE lane = ANY($1::int[])`",
      '`UPDATE gleaner.turnstiles SET turn = turn WHERE lane = ANY($1::int[])`',
    ],
    idle: ['unused.has(lane) && gate.isIdle(now)', 'unused.has(lane) && gate !== null'],
    suspects: ['.filter(({ gate }) => gate.room(now) > 0)', '.filter(({ gate }) => gate !== null)'],
    replanned: ['WHERE NOT ready AND gate IN', 'WHERE NOT ready AND false AND gate IN'],
    before: [
      'const held = now - row.counted_at < RECOUNT_MS ? row.held : await recount(sql, row, now)',
      'const held = now - row.counted_at < RECOUNT_MS ? row.held : (await recount(sql, row, now), row.held)',
    ],
  },
] as const

/** What both stores do alike. */
const GATE = 'src/store/limit-counter.ts'
const ENTERS: Change = ['    this.#held += count\n', '']
const COUNTS: Change = ['    this.#starts = withStarts(this.#starts, this.#limit.rate, now, count)\n', '']

/** The same promises, kept by each store in its own words. */
const IN_STORES: Guard[] = STORES.flatMap((store) => {
  const guard = (
    file: string,
    [find, replace]: Change,
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
      GATE,
      ENTERS,
      'what is claimed is counted',
      'No more run at the same time than the limit says.',
      'no more of a queue are held than its limit says, by all stores together',
    ),
    guard(
      GATE,
      COUNTS,
      'starts are counted',
      'No more start in a time than the rate says.',
      'never more start within the time of a rate than it says, and the next one as soon as it may',
    ),
    guard(
      store.store === 'sqlite' ? store.gates : store.turnstiles,
      store.opens,
      'a slot that is free opens its key',
      'A key at its limit goes on as soon as one of it ends.',
      'no more of a key are held than its limit says, by all stores together',
    ),
    guard(
      store.turnstiles,
      store.turn,
      'keys take turns',
      'A key with a long backlog holds up no other.',
      'keys take turns, however much one of them has waiting',
    ),
    guard(
      store.turnstiles,
      store.idle,
      'a key is not forgotten before its rate',
      'A rate holds for a key whose tasks were removed.',
      'keys that nothing refers to any more are forgotten, once their rate is over',
    ),
    guard(
      store.turnstiles,
      store.suspects,
      'a suspect waits for its limit',
      'A suspect counts for its limits as everything else.',
      'a suspect that its key holds back is not run before its time',
    ),
    guard(
      store.gates,
      store.replanned,
      'new numbers open what was shut',
      'A limit that was raised holds from the next claim on.',
      'changed numbers hold from the next claim on, in every store',
    ),
    guard(
      store.gates,
      store.before,
      'a limit counts what was held before it',
      'A limit that comes while something runs is not exceeded by it.',
      'a limit counts what was held before it came, and lets it end',
    ),
  ]
})

/** Limits, from the definition to the claim. */
export const LIMITS: readonly Guard[] = [
  ...IN_STORES,
  {
    name: 'a rate is strict',
    promise: 'There is no window in which more start than the rate says.',
    file: 'src/model/limit.ts',
    find: '[Math.max(now, last[0]), last[1] + count]',
    replace: '[last[0], last[1] + count]',
    test: {
      file: 'test/model/limit.test.ts',
      title: 'is never exceeded in any window, and is used to at least 98 %',
    },
  },
  {
    name: 'a rate is written down in slices',
    promise: 'What a rate has to remember is bounded.',
    file: 'src/model/limit.ts',
    find: 'sliceOf(last[0], rate) !== sliceOf(now, rate)',
    replace: 'last[0] !== now',
    test: { file: 'test/model/limit.test.ts', title: 'is written down in few words, however many start' },
  },
  {
    name: 'a clock that is set back ends no rate',
    promise: 'Nobody waits for starts that lie in the future.',
    file: 'src/model/limit.ts',
    find: ' && lastAt <= now + perMs)',
    replace: ')',
    test: { file: 'test/model/limit.test.ts', title: 'does not wait for ever when the clock was set back' },
  },
  {
    name: 'what limits count is prefetched within half of their room',
    promise: 'A worker leaves room under a limit to other workers.',
    file: 'src/store/lines.ts',
    find: 'if (gates.some((gate) => left.get(gate)! <= 0)) return false\n',
    replace: '\n',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'half of the room that a limit leaves is prefetched, and counts',
    },
  },
  {
    name: 'keys stand in line by their turn, not by their backlog',
    promise: 'Where the queue is the narrow place, quiet keys do not wait for a noisy one.',
    file: 'src/store/lines.ts',
    find: 'const [one, other] = [plain[p], keyed[k]]',
    replace: 'if (k === 0) keyed = [...keyed].sort(isBefore)\n    const [one, other] = [plain[p], keyed[k]]',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'keys take turns also where the queue itself is limited, and beside tasks without a key',
    },
  },
  {
    name: 'the key of a limit is checked',
    promise: 'A task whose key is none is refused, and nothing is written.',
    file: 'src/define/limit.ts',
    find: "if (typeof value === 'string' && value !== '' &&",
    replace:
      "if (value !== '' || value === '') return String(value)\n  if (typeof value === 'string' && value !== '' &&",
    test: { file: 'test/queue/limits.test.ts', title: 'when the key is nothing: nothing is enqueued' },
  },
  {
    name: 'the key is taken from what run sees',
    promise: 'Defaults of a schema count for the limit.',
    file: 'src/queue/new-task.ts',
    find: ': withLimitKey(definition, task, seen)',
    replace: ': withLimitKey(definition, task, input)',
    test: {
      file: 'test/queue/limits.test.ts',
      title: 'is taken from the input as run sees it, defaults included',
    },
  },
  {
    name: 'a limit is not lifted by who does not name it',
    promise: 'A process that says a strategy leaves the limit as it is.',
    file: 'src/define/queue.ts',
    find: '...(isLimitNamed ? { limit: checkLimit(options, what) } : {}),',
    replace: 'limit: checkLimit(options, what),',
    test: {
      file: 'test/queue/limits.test.ts',
      title: 'a queue that is named without a limit keeps the one it has; null takes it away',
    },
  },
]
