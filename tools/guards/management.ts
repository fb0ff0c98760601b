import type { Guard } from './guard.ts'

const STORES = ['sqlite', 'postgres'] as const
const conformanceOf = (store: string) => `test/store/${store}.conformance.test.ts`

/** The same guard of a shared file, seen by each store's tests. */
function onBoth(guard: Omit<Guard, 'test'> & { title: string }): Guard[] {
  const { title, name, ...rest } = guard
  return STORES.map((store) => ({
    ...rest,
    name: `${name} (${store})`,
    test: { file: conformanceOf(store), title },
  }))
}

const SHARED: Guard[] = [
  ...onBoth({
    name: 'a change of what runs too long spares what started just now',
    promise: 'What started just now is not cancelled for what ran too long.',
    file: 'src/store/task-filter.ts',
    find: 'return Math.min(startedBefore ?? Number.MAX_SAFE_INTEGER, since)',
    replace: 'return Number.MAX_SAFE_INTEGER',
    title: 'what has run for too long is cancelled, and what started just now runs on',
  }),
  ...onBoth({
    name: 'a page looks at so many tasks and no more',
    promise: 'A filter without an index costs a bounded look, however many tasks there are.',
    file: 'src/store/page-scan.ts',
    find: 'else if (this.#looked >= SCAN_MAX)',
    replace: 'else if (this.#looked >= 1_000 * SCAN_MAX)',
    title: 'a page looks at a bounded number of tasks, and its next goes on from there',
  }),
  ...onBoth({
    name: 'text is looked for in the message alone',
    promise: 'A search for a text does not name tasks whose message does not have it.',
    file: 'src/store/task-filter.ts',
    find: 'return smallLetters(message).includes(smallLetters(error))',
    replace: 'return message.length > 0',
    title: 'tasks are found by text in the message of their error, and by nothing else of it',
  }),
  ...onBoth({
    name: 'what is being read is not replaced',
    promise: 'The last input of a debounced key is run, also when the one before is just running.',
    file: 'src/model/held-key.ts',
    find: "if (waiting.held) return { do: 'follow' }",
    replace: '',
    title: "what comes while a task is in a worker's hands runs after it (debounce)",
  }),
  ...onBoth({
    name: 'a debounced task has a longest wait',
    promise: 'Nobody can put off a debounced task for longer than maxWait.',
    file: 'src/model/held-key.ts',
    find: 'Math.min(later, createdAt + wish.maxWaitMs)',
    replace: 'later',
    title: 'nobody can put off a debounced task for longer than its longest wait',
  }),
  ...onBoth({
    name: 'a throttled key rests though its task has ended',
    promise: 'Of a throttled key there is one task in its time.',
    file: 'src/model/held-key.ts',
    find: 'throttled ?? active?.id',
    replace: 'active?.id',
    title: 'of a throttled key there is one task in its time, whatever becomes of it',
  }),
  ...onBoth({
    name: 'tasks that come later are left alone',
    promise: 'A bulk change ends, though others enqueue all the time.',
    file: 'src/queue/bulk.ts',
    find: '        upTo = done.upTo\n',
    replace: '',
    title: 'tasks that come while it goes on are left alone',
  }),
  ...onBoth({
    name: 'of twins one is retried',
    promise: 'A dry run says exactly what would be done, also where tasks share a key.',
    file: 'src/store/scripts/task-changes.ts',
    find: 'if (key !== null) taken.set(key, id)',
    replace: '',
    title: 'those whose key another holds are left alone, counted and told; of twins one is retried',
  }),
  {
    name: 'an empty filter is refused',
    promise: 'Nobody removes everything by mistake.',
    file: 'src/queue/bulk.ts',
    find: 'if (Object.keys(filter).length === 0 && options.all !== true)',
    replace: 'if (filter.status === null)',
    test: { file: 'test/queue/bulk.test.ts', title: 'an empty filter is refused, unless all is said' },
  },
  {
    name: 'a dead process serves nobody',
    promise: 'explain does not count on workers that are gone.',
    file: 'src/queue/manage.ts',
    find: 'at.workers.filter(({ process }) => !isProvedDead(process, store))',
    replace: 'at.workers',
    test: {
      file: 'test/queue/explain.test.ts',
      title: 'a worker whose process is dead serves nobody, even before it is swept',
    },
  },
  {
    name: 'what was counted is written down when a process closes',
    promise: 'Only a crash loses counts.',
    file: 'src/engine/open.ts',
    find: '  await meter.close()\n',
    replace: '',
    test: {
      file: 'test/observe/metrics.test.ts',
      title: 'a process writes its counts down by itself, and when it closes',
    },
  },
  {
    name: 'who asks for metrics waits for all that is being written',
    promise: 'What this process has counted so far is part of its metrics.',
    file: 'src/observe/meter.ts',
    find: '    while (this.#writing !== undefined) await this.#writing\n',
    replace: '    await this.#writing\n',
    test: {
      file: 'test/observe/metrics.test.ts',
      title: 'who asks is told all that was counted before, also while others ask and write',
    },
  },
]

interface InStore {
  file: string
  find: string
  replace: string
}

/** The same promises, kept by each store in its own words. */
function inEach(
  name: string,
  promise: string,
  title: string,
  places: Record<(typeof STORES)[number], InStore>,
): Guard[] {
  return STORES.map((store) => ({
    name: `${name} (${store})`,
    promise,
    ...places[store],
    file: `src/store/${store}/${places[store].file}`,
    test: { file: conformanceOf(store), title },
  }))
}

const IN_STORES: Guard[] = [
  {
    name: 'postgres: who changes many waits for nobody',
    promise: 'A change of many tasks and the workers never wait for each other.',
    file: 'src/store/postgres/server/scripts.ts',
    find: "skipLocked: verbatim('SKIP LOCKED')",
    replace: "skipLocked: verbatim('')",
    test: {
      file: 'test/store/postgres/bulk.test.ts',
      title:
        'who removes many waits for nobody who has one of them in hand, and says that it is to be met again',
    },
  },
  ...inEach(
    'a follower waits for the one before it',
    'Two tasks of one key never run at the same time.',
    "what comes while a task is in a worker's hands runs after it (replace)",
    {
      sqlite: {
        file: 'tasks/held-key.ts',
        find: 'if (before === undefined) db.sql',
        replace: 'if (before !== null) db.sql',
      },
      postgres: { file: 'tasks/claim.ts', find: 'found.filter(({ waits }) => !waits)', replace: 'found' },
    },
  ),
  ...inEach(
    'a key that somebody waits for is held',
    'Nobody gets a key between the end of its holder and the one that follows it.',
    'while a task waits for the key to be free, nobody else gets it',
    {
      sqlite: {
        file: 'tasks/enqueue.ts',
        find: 'holding(key) ?? holding(followerKey(key))',
        replace: 'holding(key)',
      },
      postgres: { file: 'tasks/enqueue.ts', find: '[keys, keys.map(followerKey)]', replace: '[keys, []]' },
    },
  ),
  ...inEach(
    'old minutes are taken away',
    'What is kept of each minute does not grow for ever.',
    'minutes older than a week are taken away, a few hundred at a time',
    {
      sqlite: { file: 'manage/metrics.ts', find: 'minute - MINUTES_KEPT_MS', replace: '-1' },
      postgres: {
        file: 'manage/folding.ts',
        find: 'AND minute > ${ALL_TIME}',
        replace: 'AND minute < ${ALL_TIME}',
      },
    },
  ),
]

export const MANAGEMENT: readonly Guard[] = [...SHARED, ...IN_STORES]
