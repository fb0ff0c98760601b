import type { Guard } from './guard.ts'

const HTTP = 'test/http/claims.test.ts'

/** What keeps claims by hand with the one that made them. */
export const CLAIMS: readonly Guard[] = [
  {
    name: 'claims: a claim belongs to its caller',
    promise: 'A fence that another caller guesses settles nothing.',
    file: 'src/worker/claims/remote-claims.ts',
    find: 'held === null || held.caller !== by.caller',
    replace: 'held === null',
    test: {
      file: HTTP,
      title: 'a wrong fence, a second settlement and another caller get 409 and change nothing',
    },
  },
  {
    name: 'claims: a time-out over HTTP',
    promise: 'A caller that ignores the time-out of a task does not hold it.',
    file: 'src/worker/claims/remote-claims.ts',
    find: '<= timeoutMs + this.#services.timings.graceMs)',
    replace: '>= 0)',
    test: {
      file: HTTP,
      title: 'a time-out that a caller ignores fails the attempt, and its late result is refused',
    },
  },
  {
    name: 'claims: only what a token names',
    promise: 'A worker pulls only from the queues and discoveries of its token.',
    file: 'src/http/routes/claims.ts',
    find: 'if (may === null || may.includes(one)) return',
    replace: 'if (one !== undefined) return',
    test: { file: HTTP, title: 'a worker may claim only what its token names, and nothing else' },
  },
]
