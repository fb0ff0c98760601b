import type { Guard } from './guard.ts'

const MONITOR = 'test/health/monitor.test.ts'

const STORES = ['sqlite', 'postgres'] as const

export const HEALTH: readonly Guard[] = [
  {
    name: 'failed ends the monitoring',
    promise: 'A component that was given up is not asked about until it is registered again.',
    file: 'src/health/monitor.ts',
    find: '      this.#watched.delete(seen.id)\n',
    replace: '',
    test: { file: MONITOR, title: 'does not ask any more after failed, until it is registered again' },
  },
  {
    name: 'an owner that throws harms nobody',
    promise: 'One owner that cannot say how its component is does not end the monitoring of the others.',
    file: 'src/health/monitor.ts',
    find: '      return this.#threw(id, error)\n',
    replace: '      throw error\n',
    test: {
      file: MONITOR,
      title:
        'takes an owner that throws, or answers what is no status, for unhealthy, and goes on with the others',
    },
  },
  {
    name: 'what waits to be written is bounded',
    promise: 'A database that is away costs notes, never memory.',
    file: 'src/health/history.ts',
    find: 'this.#waiting.length - WAITING_MAX',
    replace: 'this.#waiting.length - Number.MAX_SAFE_INTEGER',
    test: { file: MONITOR, title: 'a database that is away costs notes, never memory or the monitoring' },
  },
  {
    name: 'one write of the history at a time',
    promise: 'Behind a write that hangs no others pile up.',
    file: 'src/health/history.ts',
    find: 'if (this.#writing !== undefined || (this.#waiting.length',
    replace: 'if (false || (this.#waiting.length',
    test: { file: MONITOR, title: 'a database that is away costs notes, never memory or the monitoring' },
  },
  ...STORES.map((store) => ({
    name: `${store}: an old history goes`,
    promise: 'The history of health does not grow for ever.',
    file: 'src/store/scripts/health.ts',
    find: '\n        OR id <=',
    replace: '\n        AND id <=',
    test: {
      file: `test/store/${store}.conformance.test.ts`,
      title: 'health history > what is too old is taken away, a few at a time',
    },
  })),
]
