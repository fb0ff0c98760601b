import type { Guard } from './guard.ts'

function guard(
  name: string,
  promise: string,
  [file, find, replace]: [file: string, find: string, replace: string],
  [test, title]: [test: string, title: string],
): Guard {
  return { name: `states: ${name}`, promise, file, find, replace, test: { file: test, title } }
}

/** What is shown of states is true. */
export const STATES: readonly Guard[] = [
  guard(
    'a resume of everything revives',
    'Workers that were given up start again with the next resume, on whichever surface.',
    [
      'src/queue/pausing.ts',
      "  await store.sessions.command({ action: 'revive', worker: null, supervisor: null })\n",
      '',
    ],
    [
      'test/supervisor/commands.test.ts',
      'a resume of everything starts a worker that was given up, and ends a pause that an older release wrote down',
    ],
  ),
  guard(
    'a resource of others',
    'A missing resource harms only the health of workers that are there for its tasks.',
    [
      'src/worker/sources/tasks.ts',
      'return queue !== undefined && this.#fully.queues.includes(queue)',
      'return true',
    ],
    [
      'test/supervisor/resources.test.ts',
      'a worker process that lacks a resource is unhealthy until it is back; loading takes as long as it takes',
    ],
  ),
  guard(
    'judged once',
    'A worker that drains for long stays healthy.',
    [
      'src/supervisor/slot.ts',
      'of new Set([...this.#children(), ...this.#exiting.all])',
      'of [...this.#children(), ...this.#exiting.all]',
    ],
    [
      'test/supervisor/stopping.test.ts',
      'a worker that drains for long stays healthy, and its items have all the time that was given',
    ],
  ),
  guard(
    'a clean exit',
    'A worker that somebody else stops with SIGTERM has not crashed.',
    ['src/model/exit.ts', "  if (isCleanExit(exit) && !recovered.inFlight) return 'left'\n", ''],
    [
      'test/supervisor/stopping.test.ts',
      'a worker that somebody else stops with SIGTERM leaves cleanly: no crash counts, and what it held goes back',
    ],
  ),
  guard(
    'the last progress',
    'What a handler reports right before it completes is stored.',
    ['src/worker/sources/tasks.ts', '    await this.#sendProgress(session, attempt)\n', ''],
    [
      'test/journeys/history.test.ts',
      'what a handler reports right before it completes with effects is kept',
    ],
  ),
  guard(
    'an input as it is stored',
    'An input that can only fail once it is stored is refused at enqueue.',
    [
      'src/queue/new-task.ts',
      'const seen = isChanged ? asStored(definition.input, encoded, what) : checked',
      'const seen = checked',
    ],
    [
      'test/queue/bad-input.test.ts',
      'refuses the input at enqueue: the error names the field and says what to do',
    ],
  ),
  guard(
    'misspelled options',
    'An option that does not exist is refused, not ignored.',
    ['src/options.ts', 'if (unknown === undefined) return\n', 'return\n'],
    [
      'test/define/options.test.ts',
      'a misspelled option of defineTask is refused, and the right one is named',
    ],
  ),
]
