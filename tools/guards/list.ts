import type { Guard } from './guard.ts'

/** Grows with every promise: what guards it, and the test that notices when the guard is gone. */
export const GUARDS: readonly Guard[] = [
  {
    name: 'negative durations are refused',
    promise: 'A duration that is none is a typed error, not a time-out in the past.',
    file: 'src/duration.ts',
    find: ' || ms < 0',
    replace: '',
    test: { file: 'test/duration.test.ts', title: '-1 is refused with a code and a hint' },
  },
  {
    name: 'durations have a ceiling',
    promise: 'A unit mistaken for another is an error, not a task that waits for centuries.',
    file: 'src/duration.ts',
    find: ' || ms > DURATION_MAX_MS',
    replace: '',
    test: { file: 'test/duration.test.ts', title: '99999d is refused with a code and a hint' },
  },
]
