import type { Guard } from './guard.ts'

const FILE = 'test/store/sqlite.conformance.test.ts'

/** A signal is neither lost nor taken twice. */
export const SIGNALS: readonly Guard[] = [
  {
    name: 'signals: suspending looks once more',
    promise: 'A signal that comes between the wait and the end of the run resumes the task.',
    file: 'src/store/scripts/transitions.ts',
    find: 'if (yield* hasArrived(db, task.id, waits, now)) {',
    replace: 'if (waits.length < 0) {',
    test: {
      file: FILE,
      title: 'a signal that comes between the wait and the end of the run makes the task due at once',
    },
  },
  {
    name: 'signals: a wait that is decided takes no other signal',
    promise: 'A later attempt gets the same answer of a wait, and takes no second signal.',
    file: 'src/store/scripts/steps.ts',
    find: "else if (before.kind !== 'wait') return answerOf(before)",
    replace: '',
    test: {
      file: FILE,
      title: 'a wait that times out is due like a scheduled task, and stays timed out',
    },
  },
  {
    name: 'signals: a late worker takes none',
    promise: 'A worker that lost its claim takes no signal from the one that has it.',
    file: 'src/store/scripts/steps.ts',
    find: 'if (!(yield* keepStep(db, session, step))) return null',
    replace: 'yield* keepStep(db, session, step)',
    test: { file: FILE, title: 'a worker that lost its claim neither waits nor takes a signal' },
  },
  {
    name: 'signals: an edit of a row drops them',
    promise: 'A signal for one version of a row does not resume another one.',
    file: 'src/store/scripts/steps.ts',
    find: 'version IS NOT NULL AND version <> CAST(',
    replace: 'version IS NOT NULL AND version = CAST(',
    test: { file: FILE, title: 'an edit of a suspended row drops its steps, its waits and its signals' },
  },
]
