import type { Guard } from './guard.ts'

/** Promises that came last. */
export const RECENT: readonly Guard[] = [
  {
    name: 'resources: sqlite: what is unavailable ends with its session',
    promise: 'A worker that is gone holds up nothing.',
    file: 'src/store/scripts/sessions.ts',
    find: 'SET holdups = ${text} WHERE id = ${session} AND',
    replace: 'SET holdups = ${text} WHERE',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what was said ends with the session, and is told to other stores',
    },
  },
  {
    name: 'resources: postgres: what is unavailable ends with its session',
    promise: 'A worker that is gone holds up nothing.',
    file: 'src/store/scripts/sessions.ts',
    find: 'SET holdups = ${text} WHERE id = ${session} AND',
    replace: 'SET holdups = ${text} WHERE',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'what was said ends with the session, and is told to other stores',
    },
  },
  {
    name: 'a change of what runs too long spares what started just now (sqlite)',
    promise: 'What started just now is not cancelled for what ran too long.',
    file: 'src/store/task-filter.ts',
    find: 'return Math.min(startedBefore ?? Number.MAX_SAFE_INTEGER, since)',
    replace: 'return Number.MAX_SAFE_INTEGER',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what has run for too long is cancelled, and what started just now runs on',
    },
  },
  {
    name: 'a change of what runs too long spares what started just now (postgres)',
    promise: 'What started just now is not cancelled for what ran too long.',
    file: 'src/store/task-filter.ts',
    find: 'return Math.min(startedBefore ?? Number.MAX_SAFE_INTEGER, since)',
    replace: 'return Number.MAX_SAFE_INTEGER',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'what has run for too long is cancelled, and what started just now runs on',
    },
  },
  {
    name: 'a type takes turns',
    promise: 'Between types the queue decides, and a type of its own order decides which of its tasks goes.',
    file: 'src/model/chosen-order.ts',
    find: 'rank: turns[i]!.rank, turnOf: turns[i]!.id',
    replace: 'turnOf: task.id',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a type takes its own order among its tasks, and its turns as the queue says',
    },
  },
  {
    name: 'a chosen order reads every priority',
    promise: 'A worker takes the oldest or the newest task of a queue that is stored by priority.',
    file: 'src/store/scripts/chosen-heads.ts',
    find: 'SELECT lane, rank FROM stretch WHERE rank IS NOT NULL`',
    replace: 'SELECT lane, rank FROM stretch WHERE rank IS NOT NULL LIMIT 1`',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a worker takes fifo from a queue that is stored as priority',
    },
  },
  {
    name: 'computed requirements are checked',
    promise: 'A function that returns nonsense is a typed error, and nothing is enqueued.',
    file: 'src/define/task.ts',
    find: '  }\n  if (isRequires(value)) return value',
    replace: '  }\n  return value as Requires',
    test: {
      file: 'test/queue/requires.test.ts',
      title: 'a function that returns nothing is a typed error, and nothing is enqueued',
    },
  },
  {
    name: 'requirements follow from the input',
    promise: 'A task that computes its requirements runs only where they are met.',
    file: 'src/queue/new-task.ts',
    find: '...(requiresOf === null ? {} : { requires: requiresWith(definition, task.requires, parsed) }),',
    replace: '',
    test: {
      file: 'test/queue/requires.test.ts',
      title: 'are those of the parsed input, and enqueue is merged over them',
    },
  },
]
