import type { Guard } from './guard.ts'

/** What stands between rows of a user's own tables and harm, on the worker's side. */
export const DISCOVERY_WORKER: readonly Guard[] = [
  {
    name: 'discovery: a row that does not fit its schema never runs',
    promise: 'A row whose schema fails is put aside at once, with its reason.',
    file: 'src/worker/sources/rows.ts',
    find: 'schema === undefined ? row : ',
    replace: 'schema !== null ? row : ',
    test: {
      file: 'test/discovery/running.test.ts',
      title: 'because it does not fit its schema is quarantined at once, with the reason',
    },
  },
  {
    name: 'discovery: done may not answer later',
    promise: 'What `done` answers is written at once, or refused.',
    file: 'src/discovery/done.ts',
    find: '  if (isThenable(values)) {',
    replace: '  if (isThenable(values) && false) {',
    test: {
      file: 'test/discovery/done.test.ts',
      title: 'that answers with a promise fails its row, and says why',
    },
  },
  {
    name: 'discovery: done sets only what a column can hold',
    promise: 'A mistake in `done` is an error that names the column.',
    file: 'src/discovery/done.ts',
    find: '    if (flaw !== null) throw',
    replace: '    if (flaw === "") throw',
    test: {
      file: 'test/discovery/done.test.ts',
      title: 'that answers with undefined in a column fails its row, and says why',
    },
  },
  {
    name: 'discovery: ctx.complete is refused when the store refuses',
    promise: 'A handler whose own writes were undone is told so.',
    file: 'src/worker/sources/rows.ts',
    find: "return answer.kind === 'done' ? null : refusalOf(answer, id)",
    replace: "return answer.kind !== 'refused' ? null : refusalOf(answer, id)",
    test: {
      file: 'test/discovery/done.test.ts',
      title: 'undoes them when the row was edited meanwhile',
    },
  },
  {
    name: 'discovery: who gave last is asked last',
    promise: 'Neither tasks nor rows wait until the other is done.',
    file: 'src/worker/sources/source.ts',
    find: '    this.#all.push(source)',
    replace: '    this.#all.unshift(source)',
    test: {
      file: 'test/discovery/sources.test.ts',
      title: 'takes from tasks and rows in turn: neither waits until the other is done',
    },
  },
  {
    name: 'discovery: who names discoveries means no queues',
    promise: 'A worker that is given discoveries takes no tasks.',
    file: 'src/engine/work-options.ts',
    find: 'options.queues ?? (isNamed ? [] : known.registry.queues())',
    replace: 'options.queues ?? known.registry.queues()',
    test: { file: 'test/discovery/sources.test.ts', title: 'that is given discoveries takes no tasks' },
  },
  {
    name: 'discovery: who names queues means no discoveries',
    promise: 'A worker that is given queues takes no rows.',
    file: 'src/engine/work-options.ts',
    find: 'options.discoveries ?? (isNamed ? [] : known.discoveries.runnable)',
    replace: 'options.discoveries ?? known.discoveries.runnable',
    test: { file: 'test/discovery/sources.test.ts', title: 'that is given queues takes no rows' },
  },
  {
    name: 'discovery: the store says what became of a row',
    promise: 'A row that was edited meanwhile is not told as completed.',
    file: 'src/worker/report/report.ts',
    find: "    case 'changed': {",
    replace:
      "    case 'changed':\n      return emitter.emit('completed', () => ({ ...event(), durationMs }))\n    case 'never' as never: {",
    test: {
      file: 'test/discovery/running.test.ts',
      title: 'edited: nothing is marked done that is not',
    },
  },
  {
    name: 'discovery: a missing index holds up nobody',
    promise: '`explain` tells of a missing index without calling the row blocked.',
    file: 'src/model/row-explanation.ts',
    find: 'const runnable = reasons.every((reason) => reason.ok)',
    replace: 'const runnable = [...reasons, indexReason(at)].every((reason) => reason.ok)',
    test: {
      file: 'test/discovery/managing.test.ts',
      title: 'prints the index that is missing, and a warning did when it was opened',
    },
  },
  {
    name: 'discovery: a missing index is told aloud',
    promise: 'Who opens a discovery that reads the whole table is warned.',
    file: 'src/engine/open.ts',
    find: '  warnOfScans(found)\n',
    replace: '  void warnOfScans\n',
    test: {
      file: 'test/discovery/managing.test.ts',
      title: 'prints the index that is missing, and a warning did when it was opened',
    },
  },
  {
    name: 'discovery: all is released, page by page',
    promise: '`release` without a key releases all that are quarantined.',
    file: 'src/discovery/manage.ts',
    find: '    after = step.next',
    replace: '    after = null',
    test: {
      file: 'test/discovery/managing.test.ts',
      title: 'releases one quarantined row to try, or all',
    },
  },
  {
    name: 'discovery: rows are counted apart from tasks',
    promise: 'The numbers of tasks are of tasks.',
    file: 'src/model/metrics.ts',
    find: 'const minutes = all.filter(({ queue }) => isQueue(queue))',
    replace: 'const minutes = all',
    test: {
      file: 'test/discovery/sources.test.ts',
      title: 'counts what it did of rows for metrics(), apart from tasks',
    },
  },
  {
    name: 'discovery: drained waits for rows that back off, if asked to',
    promise: '`drained({ includeDelayed: true })` is over tasks and rows.',
    file: 'src/worker/sources/rows.ts',
    find: "['backing-off', 'suspended', 'waiting'] as const",
    replace: "['suspended', 'waiting'] as const",
    test: {
      file: 'test/journeys/discovery.test.ts',
      title: 'drained, with what is delayed, waits for rows that back off, and not for those in quarantine',
    },
  },
  {
    name: 'discovery: a new process prefers other work to suspects',
    promise: 'Rows that take processes down do not keep new ones from all other work.',
    file: 'src/worker/isolation/crash-isolation.ts',
    find: 'startMs + Math.max(OTHERS_FIRST_MS, othersMs(startMs))',
    replace: 'startMs',
    test: {
      file: 'test/worker/crash-isolation.test.ts',
      title:
        'a process that took a second to start prefers other work to suspects for a while: one may have taken its predecessor down',
    },
  },
  {
    name: 'discovery: after a suspect others have their time',
    promise:
      'Rows that hang until their time is out do not keep a process from other work, one after the other.',
    file: 'src/worker/isolation/crash-isolation.ts',
    find: 'if (wasSuspect) this.#othersFirst(ranMs)',
    replace: '',
    test: {
      file: 'test/worker/crash-isolation.test.ts',
      title:
        'after a suspect others have nineteen times as long as it took, with the time to empty the house',
    },
  },
  {
    name: 'discovery: suspects are told although there is other work (sqlite)',
    promise: 'A suspect gets its turn however many rows wait.',
    file: 'src/store/sqlite/rows/exchange.ts',
    find: 'suspectsWaiting: suspectsWait(db, want, now)',
    replace: 'suspectsWaiting: suspectsWait(db, want, now) && claims.length === 0',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'when several were running nobody is charged; each is next run alone',
    },
  },
  {
    name: 'discovery: suspects are told although there is other work (postgres)',
    promise: 'A suspect gets its turn however many rows wait.',
    file: 'src/store/postgres/rows/exchange.ts',
    find: '!want.empty && seen!.suspects',
    replace: '!want.empty && looking!.claims.length === 0 && seen!.suspects',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'when several were running nobody is charged; each is next run alone',
    },
  },
  {
    name: 'discovery: an ended session is heard of by who only asks (sqlite)',
    promise: 'A handler whose claim was lost is told, though it has nothing to hand in.',
    file: 'src/store/sqlite/rows/index.ts',
    find: 'if (want === null && !hasRowChanges(asked)) {',
    replace: 'if (want === null && !hasRowChanges(asked) && asked.session === "") {',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'who has nothing to hand in, and wants nothing, hears that its session was ended',
    },
  },
  {
    name: 'discovery: an ended session is heard of by who only asks (postgres)',
    promise: 'A handler whose claim was lost is told, though it has nothing to hand in.',
    file: 'src/store/postgres/rows/exchange.ts',
    find: 'const apart = asksOnly || ',
    replace: 'const apart = ',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'who has nothing to hand in, and wants nothing, hears that its session was ended',
    },
  },
]
