import type { Guard } from './guard.ts'

const SCHEDULES = {
  due: ['AND next_at = ${row.next_at} AND NOT paused', 'AND NOT paused'],
  paused: ['next_at = ${row.next_at} AND NOT paused\n', 'next_at = ${row.next_at}\n'],
  same: ['AND every = ${row.every} AND', 'AND'],
  overlap: [' || (yield* isUnderWay(row.name))) continue', ') continue'],
  trigger: ['if (yield* isUnderWay(task.name)) return', 'if (row.name === null) return'],
  unchanged: [
    '\n      WHERE s.every <> excluded.every OR s.timezone IS DISTINCT FROM excluded.timezone`',
    '`',
  ],
  resumed: ['paused ? row.next_at : nextOccurrence(row, yield* db.time())', 'row.next_at'],
  resumedTwice: ['if (Boolean(row.paused) === paused) return true', ''],
  anew: ['timezone = excluded.timezone, next_at = excluded.next_at\n', 'timezone = excluded.timezone\n'],
} as const

const STORES = (['sqlite', 'postgres'] as const).map((store) => ({
  ...SCHEDULES,
  store,
  conformance: `test/store/${store}.conformance.test.ts`,
  own: `test/store/${store}/schedules.test.ts`,
}))

/** The same promises on each database. */
const IN_STORES: Guard[] = STORES.flatMap((store) => {
  const guard = (
    [find, replace]: readonly [string, string],
    name: string,
    promise: string,
    title: string,
    file: string = store.conformance,
  ): Guard => ({
    name: `${store.store}: ${name}`,
    promise,
    file: 'src/store/scripts/schedules.ts',
    find,
    replace,
    test: { file, title },
  })
  return [
    guard(
      store.due,
      'an occurrence is taken by compare-and-set',
      'However many processes see that it is due, an occurrence is enqueued once.',
      'and was enqueued, and even ended, meanwhile, is not enqueued again',
      store.own,
    ),
    guard(
      store.paused,
      'a pause counts at the last moment',
      'A schedule that was paused enqueues nothing more.',
      'and was paused meanwhile is not enqueued',
      store.own,
    ),
    guard(
      store.same,
      'an occurrence belongs to its plan',
      'A schedule that was changed goes by its new times alone.',
      'and was planned anew meanwhile, for the same moment, is left to the new plan',
      store.own,
    ),
    guard(
      store.overlap,
      'an occurrence does not overlap',
      'An occurrence is skipped while the one before is unfinished.',
      'an occurrence is skipped while the task of the one before is queued',
    ),
    guard(
      store.trigger,
      'a trigger does not overlap',
      'Somebody who triggers by hand does not get two at a time.',
      'a trigger while the last task is unfinished makes no second one, and names it',
    ),
    // The test of this race needs two connections that write at the same time.
    ...(store.store === 'postgres'
      ? [
          guard(
            store.unchanged,
            'an unchanged schedule keeps its time',
            'Processes that start together do not lose what is due.',
            'a schedule that another process has planned, and missed since, is not planned away',
            store.own,
          ),
        ]
      : []),
    guard(
      store.resumed,
      'a pause is not made up for',
      'A resumed schedule goes on with its next time.',
      'a paused schedule enqueues nothing, in no store; resumed, it goes on with the next one',
    ),
    guard(
      store.resumedTwice,
      'resuming what is not paused changes nothing',
      'What is due is not lost to a resume.',
      'resuming what is not paused does not lose what is due',
    ),
    guard(
      store.anew,
      'a changed schedule is planned anew',
      'A new cron expression counts from the next start on.',
      'a schedule that was changed is planned anew from now on, and keeps its last task',
    ),
  ]
})

/** What recurs, from the definition to the task. */
export const RECURRING: readonly Guard[] = [
  ...IN_STORES,
  {
    name: 'missed occurrences collapse',
    promise: 'After a downtime there is one task, not hundreds.',
    file: 'src/model/schedule.ts',
    find: 'nextOccurrence(schedule, Math.max(dueAtMs, nowMs))',
    replace: 'nextOccurrence(schedule, dueAtMs)',
    test: { file: 'test/model/schedule.test.ts', title: 'what was missed meanwhile is left out' },
  },
  {
    name: 'an occurrence does not come back with the clock',
    promise: 'A clock that is set back does not repeat an occurrence.',
    file: 'src/model/schedule.ts',
    find: 'nextOccurrence(schedule, Math.max(dueAtMs, nowMs))',
    replace: 'nextOccurrence(schedule, nowMs)',
    test: {
      file: 'test/model/schedule.test.ts',
      title: 'it does not come again, should the clock have gone back',
    },
  },
  {
    name: 'cron goes by its time zone',
    promise: 'Three in the night is three in the night in Berlin, too, and all year.',
    file: 'src/model/schedule.ts',
    find: '{ timezone, mode:',
    replace: "{ timezone: 'Etc/GMT-1', mode:",
    test: { file: 'test/model/schedule.test.ts', title: 'leaves out occurs once, right after the gap' },
  },
  {
    name: 'intervals do not drift',
    promise: 'Every ten minutes is at :00, :10, :20, whoever looks, and however late.',
    file: 'src/model/schedule.ts',
    find: '(Math.floor(afterMs / intervalMs) + 1) * intervalMs',
    replace: 'afterMs + intervalMs',
    test: {
      file: 'test/model/schedule.test.ts',
      title: 'an interval is counted from 1970: wherever one begins to look, the times are the same',
    },
  },
  {
    name: 'short intervals are refused',
    promise: 'A unit that was forgotten does not make a task a thousand times a second.',
    file: 'src/define/schedule.ts',
    find: '< INTERVAL_MIN_MS',
    replace: '< 0',
    test: { file: 'test/define/schedule.test.ts', title: '"999ms" is refused: it is too short' },
  },
  {
    name: 'dates are no schedules',
    promise: 'What would occur once is not taken for something that recurs.',
    file: 'src/define/schedule.ts',
    find: 'if (!CRON.test(every)) throw',
    replace: 'if (every === null) throw',
    test: {
      file: 'test/define/schedule.test.ts',
      title: '"2030-01-01T00:00:00" is refused: it is not a schedule',
    },
  },
  {
    name: 'time zones are checked',
    promise: 'A zone that does not exist, or is empty, is an error when the task is defined.',
    file: 'src/define/schedule.ts',
    find: "    new Intl.DateTimeFormat('en', { timeZone: timezone })\n",
    replace: '',
    test: { file: 'test/define/schedule.test.ts', title: '"" is refused' },
  },
  {
    name: 'the input of an occurrence is checked first',
    promise: 'What could not be enqueued tonight is refused now, before anything is written.',
    file: 'src/queue/recurring.ts',
    find: 'newTask(definition, input, undefined, payloadLimit)',
    replace: 'newTask({ ...definition, input: undefined }, input, undefined, payloadLimit)',
    test: {
      file: 'test/define/schedule.test.ts',
      title: 'that does not fit its schema is refused before anything is written',
    },
  },
  {
    name: 'what was planned by others is found',
    promise: 'A schedule that another process changed is followed at once.',
    file: 'src/queue/recurring.ts',
    find: " || (change.kind === 'elsewhere' && change.only === 'schedules')",
    replace: '',
    test: {
      file: 'test/queue/recurring.test.ts',
      title: 'and was changed by another process is looked for at once',
    },
  },
  {
    name: 'a rest has an end',
    promise: 'Losing every wake-up costs latency only.',
    file: 'src/queue/recurring.ts',
    find: 'Math.min(nextInMs ?? this.#options.restMs, this.#options.restMs)',
    replace: 'nextInMs ?? this.#options.restMs',
    test: {
      file: 'test/queue/recurring.test.ts',
      title: 'and is far away, or paused, is looked for once in a while: somebody may have planned it anew',
    },
  },
  {
    name: 'idle schedules cost nothing',
    promise: 'The database is not asked before something is due.',
    file: 'src/queue/recurring.ts',
    find: 'this.#restFor(this.#lookAgain ? 0 : restMs)',
    replace: 'this.#restFor(Math.min(restMs, 1_000))',
    test: {
      file: 'test/queue/recurring.test.ts',
      title: 'is looked for when it is due, and not in between',
    },
  },
]
