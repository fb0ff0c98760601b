import type { Guard } from './guard.ts'

const CRASHES = 'test/supervisor/crashes.test.ts'
const BLOCKING = 'test/supervisor/blocking.test.ts'
const RESTARTS = 'test/supervisor/restarts.test.ts'
const ENDS = 'test/supervisor/ends.test.ts'
const STOPPING = 'test/supervisor/stopping.test.ts'
const COMMANDS = 'test/supervisor/commands.test.ts'
const BAD_TIMES = 'test/supervisor/bad-times.test.ts'
const LATE = 'test/supervisor/late-answers.test.ts'
const READER = 'test/process/frame-reader.test.ts'
const RESTART_MODEL = 'test/model/restart.test.ts'

function guard(
  name: string,
  promise: string,
  [file, find, replace]: [file: string, find: string, replace: string],
  [test, title]: [test: string, title: string],
): Guard {
  return { name: `supervision: ${name}`, promise, file, find, replace, test: { file: test, title } }
}

const ON_STORES: Guard[] = (['sqlite', 'postgres'] as const).flatMap((store) => [
  guard(
    `${store}: since when rows wait`,
    'Rows that wait now are not taken for those that waited an hour ago.',
    ['src/store/scripts/row-waits.ts', 'WHERE NOT discovery ${db.oneOf(waiting)}', 'WHERE discovery IS NULL'],
    [
      `test/store/${store}.conformance.test.ts`,
      'since when rows wait is known from the first look that found some to the first that found none',
    ],
  ),
  guard(
    `${store}: one gets the leadership`,
    'There is one supervisor per database and name.',
    [
      'src/store/scripts/supervision.ts',
      'WHERE s.term = ${replaces} RETURNING term',
      'WHERE s.term > 0 RETURNING term',
    ],
    [
      `test/store/${store}.conformance.test.ts`,
      'of two supervisors that want the same leadership one gets it',
    ],
  ),
  guard(
    `${store}: who lost the leadership is not heard`,
    'A supervisor that was replaced while it slept does not overwrite what its successor says.',
    ['src/store/scripts/supervision.ts', 'AND term = ${term}`', 'AND term >= ${term}`'],
    [
      `test/store/${store}.conformance.test.ts`,
      'a supervisor that lost the leadership cannot report any more',
    ],
  ),
  guard(
    `${store}: a crash is shown on another item`,
    'A worker that crashes on everything is found out before an item is put aside.',
    store === 'sqlite'
      ? [`src/store/sqlite/tasks/next-tasks.ts`, '!avoid.includes(String(id))', 'id > 0']
      : [`src/store/postgres/tasks/claim.ts`, 'suspectsBut(who.want.avoid)', 'suspectsBut()'],
    [
      `test/store/${store}.conformance.test.ts`,
      'a worker that would rather show on another item that it is broken is not given the same',
    ],
  ),
])

export const SUPERVISOR: Guard[] = [
  guard(
    'what a dead process held is given back at once',
    'A crash is repaired in milliseconds, not when the lease is over.',
    [
      'src/supervisor/crash-recovery.ts',
      'for (const { id } of sessions) {',
      'for (const { id } of sessions.slice(1)) {',
    ],
    [CRASHES, 'a task whose worker is killed runs again in another one in the blink of an eye'],
  ),
  guard(
    'what a worker started dies with it',
    'A dead worker leaves no processes behind.',
    ['src/supervisor/child.ts', '      this.killGroup()\n      if (this.pid', '      if (this.pid'],
    [CRASHES, 'what a worker has started itself dies with it, also if it has an empty environment'],
  ),
  guard(
    'what runs is told before it is called',
    'A handler that blocks the event loop is seen, by name.',
    ['src/worker/in-flight.ts', '    this.#options.watch?.began(attempt)\n', ''],
    [
      BLOCKING,
      'a handler that blocks the event loop is seen: frames go on, the worker is healthy, its claim is kept',
    ],
  ),
  guard(
    'who blocks beyond his time-out is killed',
    'A handler that never returns does not hold its worker for ever.',
    ['src/supervisor/liveness.ts', '  if (items.length > 0)\n', '  if (items.length > 100)\n'],
    [
      BLOCKING,
      'a handler that blocks beyond its time-out is killed: it timed out, whatever else was in flight costs nothing',
    ],
  ),
  guard(
    'who was killed beside it costs nothing',
    "Neighbours of somebody else's time-out lose no attempt.",
    [
      'src/model/exit.ts',
      "return requested === null || requested.kind === 'hung'",
      "return requested === null || requested.kind === 'overdue' || requested.kind === 'hung'",
    ],
    [
      BLOCKING,
      'a handler that blocks beyond its time-out is killed: it timed out, whatever else was in flight costs nothing',
    ],
  ),
  guard(
    'a crash loop ends',
    'A worker that cannot start is given up.',
    ['src/model/restart.ts', '  if (recent >= policy.inWindow)\n', '  if (recent >= 1_000)\n'],
    [RESTARTS, 'a worker that crashes at every start is given up; its siblings go on'],
  ),
  guard(
    'the total counts as well',
    'A worker that crashes every few minutes is given up at last.',
    ['src/model/restart.ts', 'if (state.total >= policy.total)', 'if (state.total >= 1_000)'],
    [RESTART_MODEL, 'crashes that are far apart end with the twentieth, after delays of a minute at most'],
  ),
  guard(
    'what an item explains is not the fault of the worker',
    'A poison item costs no worker its place.',
    ['src/model/exit.ts', "return recovered.inFlight ? 'explained' : 'unexplained'", "return 'unexplained'"],
    [RESTARTS, 'an item that kills its worker is put aside after three times, and the worker is kept'],
  ),
  guard(
    'counts outlive the supervisor',
    'A restart of the supervisor does not hide a crash loop.',
    ['src/supervisor/slot.ts', '    this.#failed = before.failed\n', ''],
    [RESTARTS, 'counts and decisions outlive the supervisor; a resume clears them'],
  ),
  guard(
    'a wrong configuration is not tried again',
    'A typo does not become a crash loop.',
    ['src/model/exit.ts', "  if (code === EXIT.configuration) return 'configuration'\n", ''],
    [RESTARTS, 'a wrong configuration is given up at once, and says what is wrong'],
  ),
  guard(
    'a database that is away is no crash',
    'Workers are not given up because the database restarts.',
    ['src/model/exit.ts', "  if (code === EXIT.database) return 'database'\n", ''],
    [RESTARTS, 'a database that cannot be reached makes it wait, and counts for nothing'],
  ),
  guard(
    'no restart waits for the database',
    'A crash loop ends although the database is locked.',
    ['src/supervisor/restarts.ts', 'await Promise.race([recovering, over])', 'await recovering'],
    [BAD_TIMES, 'the limits of restarts hold while the database is locked'],
  ),
  guard(
    'a stop cancels the restart',
    'Nothing starts after a stop.',
    ['src/supervisor/slot.ts', '    this.#stopped = true\n    this.#cancelRestart()\n', ''],
    [RESTARTS, 'stopping during a backoff starts nothing any more'],
  ),
  guard(
    'an orphan notices',
    'A supervisor that is killed leaves no processes behind.',
    ['src/process/keeper-thread.ts', "pipe.once('close', () => tell({ orphaned: true }))", ''],
    [ENDS, 'idle workers of a supervisor that was killed are gone within two seconds'],
  ),
  guard(
    'a slot waits for its orphan',
    'Two processes are never the same worker.',
    [
      'src/supervisor/supervisor.ts',
      'if (orphan === undefined) {',
      'if (orphan === undefined || orphan.pid > 0) {',
    ],
    [
      ENDS,
      'a worker of a supervisor that was killed finishes its item, takes nothing more, and leaves; the next start waits for it',
    ],
  ),
  guard(
    'a second supervisor is refused',
    'Two supervisors do not run the same workers twice.',
    [
      'src/supervisor/leadership.ts',
      'if (holder !== undefined && isLeading(holder, store)) throw refusal(holder)',
      '',
    ],
    [ENDS, 'a second supervisor of the same name is refused, and told who runs where since when'],
  ),
  guard(
    'after a gap nobody is blamed',
    'A laptop lid kills no worker.',
    [
      'src/supervisor/supervisor.ts',
      '    if (elapsedMs < Math.max(lookMs * GAP_LOOKS, GAP_MS))\n      for (const slot of this.#slots.values()) slot.look(Math.min(elapsedMs, lookMs * 2))\n',
      '    for (const slot of this.#slots.values()) slot.look(elapsedMs)\n',
    ],
    [ENDS, 'a supervisor that was stopped for a time blames nobody for what it did not hear'],
  ),
  guard(
    'what was stopped is no crash',
    'A deploy charges nobody.',
    ['src/supervisor/exiting.ts', '    child.requested ??= { kind }\n', ''],
    [
      STOPPING,
      'a worker that ignores every request is killed, with all its children, and is not called a crash',
    ],
  ),
  guard(
    'who does not leave is killed',
    'A stop ends, whatever a worker does.',
    ['src/supervisor/stopping.ts', '    this.#child.killGroup()\n', ''],
    [
      STOPPING,
      'a worker that ignores every request is killed, with all its children, and is not called a crash',
    ],
  ),
  guard(
    'who is stopped is woken up',
    'A worker under SIGSTOP leaves in order.',
    ['src/supervisor/stopping.ts', "    this.#child.signal('SIGCONT')\n", ''],
    [STOPPING, 'a worker that is stopped by a signal is woken up to leave'],
  ),
  guard(
    'who is not heard is killed',
    'A hung process does not hold its items for ever.',
    ['src/supervisor/liveness.ts', 'if (frame !== null && silentMs >= timings.hungMs)', 'if (silentMs < 0)'],
    [
      STOPPING,
      'a worker of which nothing is heard is unhealthy, then killed and replaced; what it held runs again',
    ],
  ),
  guard(
    'a pause lasts',
    'What was paused stays paused when the supervisor is restarted.',
    ['src/supervisor/slot.ts', '    this.#paused = before.paused\n', ''],
    [
      COMMANDS,
      'a pause asked for elsewhere lets the current item finish and nothing else start, and outlives the supervisor',
    ],
  ),
  guard(
    'a pause is acknowledged',
    'A worker that is shown as paused starts nothing more.',
    ['src/supervisor/slot.ts', 'this.#paused && frame?.paused === true', 'this.#paused'],
    [
      COMMANDS,
      'a worker is paused when it says so: from then on nothing starts, however late it heard of it',
    ],
  ),
  guard(
    'a wrong guess is taken back',
    'A crash that an item explains counts against no worker, also if the database told of the item late.',
    ['src/supervisor/restarts.ts', 'if (found.truth === cause) return', 'if (at > 0) return'],
    [LATE, 'a crash that was guessed to be without an item is forgiven when the database tells of it'],
  ),
  guard(
    'the new one is ready before the old one goes',
    'A deploy that does not start takes nothing away.',
    [
      'src/supervisor/slot.ts',
      '      const next = { child: this.#spawn(), ready: Promise.withResolvers<void>() }\n',
      '      const next = { child: this.#spawn(), ready: Promise.withResolvers<void>() }\n      next.ready.resolve()\n',
    ],
    [COMMANDS, 'a replacement that does not become ready leaves the old process in its place'],
  ),
  guard(
    'a flood is not looked at',
    'A worker that floods its pipe costs nobody else anything.',
    ['src/process/frame-reader.ts', 'if (this.#looked >= FRAMES_PER_SECOND) return this.#ignore()', ''],
    [
      READER,
      'of a hundred thousand frames in a second most are not even looked at, and the next second is a new one',
    ],
  ),
  guard(
    'a pause is answered when nothing more starts',
    'Once the pause of a queue is answered, nothing of it starts any more.',
    ['src/queue/pausing.ts', 'while ((await store.holdsAhead(of)) && ', 'while (of === undefined && '],
    [
      'test/journeys/pausing.test.ts',
      'when a pause is answered nothing more starts, also of what busy workers held ahead',
    ],
  ),
  guard(
    'a locked database is no crash',
    'A worker that cannot become ready because the database is locked is not counted as one that crashes.',
    ['src/process/worker-process.ts', 'if (!isKnown) fail(', 'if (isKnown && !isKnown) fail('],
    [BAD_TIMES, 'a worker that cannot become ready because the database is locked is no crash'],
  ),
  guard(
    'rows that stand still are told of',
    'Rows of which none is completed while they wait raise an alert.',
    [
      'src/model/alerts.ts',
      '...(rows.paused ? [] : stalled(backlog, measured, readings.now, limits))',
      '...[]',
    ],
    [
      'test/observe/alerts.test.ts',
      'rows that wait are an alert when nobody serves them, when they are many, and when nothing of them is completed',
    ],
  ),
  ...ON_STORES,
  {
    name: 'supervisor: how a process ended is kept with what took it down',
    promise: 'What is in quarantine tells by what its processes ended, also after a deploy.',
    file: 'src/supervisor/crash-recovery.ts',
    find: 'endSession(id, cause, { signature })',
    replace: 'endSession(id, cause)',
    test: {
      file: 'test/supervisor/crashes.test.ts',
      title: 'a task whose worker is killed runs again in another one in the blink of an eye',
    },
  },
]
