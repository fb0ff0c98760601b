import type { Guard } from './guard.ts'

/** Worker processes are watched. */
export const SUPERVISION: readonly Guard[] = [
  {
    name: 'supervision: what a dead process held is given back at once',
    promise: 'A crash is repaired in milliseconds, not when the lease is over.',
    file: 'src/supervisor/crash-recovery.ts',
    find: 'for (const { id } of sessions) {',
    replace: 'for (const { id } of sessions.slice(1)) {',
    test: {
      file: 'test/supervisor/crashes.test.ts',
      title: 'a task whose worker is killed runs again in another one in the blink of an eye',
    },
  },
  {
    name: 'supervision: what a worker started dies with it',
    promise: 'A dead worker leaves no processes behind.',
    file: 'src/supervisor/child.ts',
    find: '      this.killGroup()\n      if (this.pid',
    replace: '      if (this.pid',
    test: {
      file: 'test/supervisor/crashes.test.ts',
      title: 'what a worker has started itself dies with it, also if it has an empty environment',
    },
  },
  {
    name: 'supervision: who blocks beyond his time-out is killed',
    promise: 'A handler that never returns does not hold its worker for ever.',
    file: 'src/supervisor/liveness.ts',
    find: '  if (items.length > 0)\n',
    replace: '  if (items.length > 100)\n',
    test: {
      file: 'test/supervisor/blocking.test.ts',
      title:
        'a handler that blocks beyond its time-out is killed: it timed out, whatever else was in flight costs nothing',
    },
  },
  {
    name: 'supervision: counts outlive the supervisor',
    promise: 'A restart of the supervisor does not hide a crash loop.',
    file: 'src/supervisor/slot.ts',
    find: '    this.#pausedBefore = before.paused && before.pausedAlone !== true\n    this.#failed = before.failed\n',
    replace: '    this.#pausedBefore = before.paused && before.pausedAlone !== true\n',
    test: {
      file: 'test/supervisor/restarts.test.ts',
      title: 'counts and decisions outlive the supervisor; a resume clears them',
    },
  },
  {
    name: 'supervision: no restart waits for the database',
    promise: 'A crash loop ends although the database is locked.',
    file: 'src/supervisor/restarts.ts',
    find: 'await Promise.race([recovering, over])',
    replace: 'await recovering',
    test: {
      file: 'test/supervisor/bad-times.test.ts',
      title: 'the limits of restarts hold while the database is locked',
    },
  },
  {
    name: 'supervision: an orphan notices',
    promise: 'A supervisor that is killed leaves no processes behind.',
    file: 'src/process/keeper-thread.ts',
    find: "pipe.once('close', () => tell({ orphaned: true }))",
    replace: '',
    test: {
      file: 'test/supervisor/ends.test.ts',
      title: 'idle workers of a supervisor that was killed are gone within two seconds',
    },
  },
  {
    name: 'supervision: a second supervisor is refused',
    promise: 'Two supervisors do not run the same workers twice.',
    file: 'src/supervisor/leadership.ts',
    find: 'if (holder !== undefined && isLeading(holder, store)) throw refusal(holder)',
    replace: '',
    test: {
      file: 'test/supervisor/ends.test.ts',
      title: 'a second supervisor of the same name is refused, and told who runs where since when',
    },
  },
  {
    name: 'supervision: a slot waits for its orphan',
    promise: 'Two processes are never the same worker.',
    file: 'src/supervisor/supervisor.ts',
    find: 'if (orphan === undefined) {',
    replace: 'if (orphan === undefined || orphan.pid > 0) {',
    test: {
      file: 'test/supervisor/ends.test.ts',
      title:
        'a worker of a supervisor that was killed finishes its item, takes nothing more, and leaves; the next start waits for it',
    },
  },
  {
    name: 'supervision: what was stopped is no crash',
    promise: 'A deploy charges nobody.',
    file: 'src/supervisor/exiting.ts',
    find: '    child.requested ??= { kind }\n',
    replace: '',
    test: {
      file: 'test/supervisor/stopping.test.ts',
      title:
        'a worker that ignores every request is killed, with all its children, and is not called a crash',
    },
  },
  {
    name: 'supervision: who does not leave is killed',
    promise: 'A stop ends, whatever a worker does.',
    file: 'src/supervisor/stopping.ts',
    find: '    this.#child.killGroup()\n',
    replace: '',
    test: {
      file: 'test/supervisor/stopping.test.ts',
      title:
        'a worker that ignores every request is killed, with all its children, and is not called a crash',
    },
  },
  {
    name: 'supervision: who is not heard is killed',
    promise: 'A hung process does not hold its items for ever.',
    file: 'src/supervisor/liveness.ts',
    find: 'if (frame !== null && silentMs >= timings.hungMs)',
    replace: 'if (silentMs < 0)',
    test: {
      file: 'test/supervisor/stopping.test.ts',
      title:
        'a worker of which nothing is heard is unhealthy, then killed and replaced; what it held runs again',
    },
  },
  {
    name: 'supervision: a pause lasts',
    promise: 'What was paused stays paused when the supervisor is restarted.',
    file: 'src/supervisor/slot.ts',
    find: '    if (before === undefined) return\n    this.#paused = before.paused\n',
    replace: '    if (before === undefined) return\n',
    test: {
      file: 'test/supervisor/commands.test.ts',
      title:
        'a pause asked for elsewhere lets the current item finish and nothing else start, and outlives the supervisor',
    },
  },
  {
    name: 'supervision: a flood is not looked at',
    promise: 'A worker that floods its pipe costs nobody else anything.',
    file: 'src/process/frame-reader.ts',
    find: 'if (this.#looked >= FRAMES_PER_SECOND) return this.#ignore()',
    replace: '',
    test: {
      file: 'test/process/frame-reader.test.ts',
      title:
        'of a hundred thousand frames in a second most are not even looked at, and the next second is a new one',
    },
  },
  {
    name: 'supervision: postgres: who lost the leadership is not heard',
    promise: 'A supervisor that was replaced while it slept does not overwrite what its successor says.',
    file: 'src/store/scripts/supervision.ts',
    find: 'AND term = ${term}`',
    replace: 'AND term >= ${term}`',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a supervisor that lost the leadership cannot report any more',
    },
  },
  {
    name: 'a program that hangs is killed',
    promise: 'A task past its deadline in a program that does not heed it does not hold its worker for ever.',
    file: 'src/process/foreign-program.ts',
    find: '    this.#condemned = Promise.withResolvers()\n    this.kill()\n',
    replace: '    this.#condemned = Promise.withResolvers()\n',
    test: {
      file: 'test/process/foreign.test.ts',
      title: 'that hangs past the deadline is killed and replaced; the others in flight lose nothing',
    },
  },
  {
    name: 'lines of a program are bounded',
    promise: 'However long an answer is, no more than a result of it is held.',
    file: 'src/process/bounded-lines.ts',
    find: 'if (this.#length <= this.#maxChars) this.#parts.push(part)',
    replace: 'if (this.#length <= Number.MAX_SAFE_INTEGER) this.#parts.push(part)',
    test: {
      file: 'test/process/foreign.test.ts',
      title: 'whose answer is too long to be read has failed for good, and memory stays bounded',
    },
  },
]
