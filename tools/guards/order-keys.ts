import type { Guard } from './guard.ts'

const SQLITE = 'test/store/sqlite.conformance.test.ts'
const POSTGRES = 'test/store/postgres.conformance.test.ts'
const ONE_AT_A_TIME = 'tasks of one key run one at a time in the order of enqueue, whatever their priority'

/** Strict order for each key. */
export const ORDER_KEYS: readonly Guard[] = [
  {
    name: 'one task of an order key leads',
    promise: 'Tasks of one order key run one at a time.',
    file: 'src/store/scripts/order-keys.ts',
    find: 'FROM ${given} WHERE NOT EXISTS (SELECT 1 FROM gleaner.tasks AS t WHERE t.order_key = k.key AND ${leading})`)',
    replace: 'FROM ${given} WHERE EXISTS (SELECT 1 FROM gleaner.tasks AS t WHERE true OR ${leading})`)',
    test: { file: SQLITE, title: 'bulk changes keep the order of what is left' },
  },
  {
    name: 'a task behind another one is not claimable',
    promise: 'A later task of an order key waits.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: '[orderKey, 0, isNotDue ? 0 : 2]',
    replace: '[orderKey, 0, 0]',
    test: { file: SQLITE, title: ONE_AT_A_TIME },
  },
  {
    name: 'a task that becomes due waits for its turn on SQLite',
    promise: 'A scheduled task does not overtake an earlier one of its order key.',
    file: 'src/store/sqlite/tasks/claim.ts',
    find: 'if (leads === 0) db.sql',
    replace: 'if (leads === 2) db.sql',
    test: { file: SQLITE, title: 'a scheduled task holds its key: no later task overtakes it' },
  },
  {
    name: 'a task that becomes due waits for its turn on PostgreSQL',
    promise: 'A scheduled task does not overtake an earlier one of its order key.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: 'in_line = leads IS NOT FALSE, delayed = false',
    replace: 'in_line = true, delayed = false',
    test: { file: POSTGRES, title: 'a scheduled task holds its key: no later task overtakes it' },
  },
  {
    name: 'a task that is retried by hand waits for its turn',
    promise: 'A retry by hand never runs beside another task of its order key.',
    file: 'src/store/postgres/server/scripts.ts',
    find: 'in_line = order_key IS NULL',
    replace: 'in_line = true',
    test: {
      file: POSTGRES,
      title: 'a task that is retried by hand takes its place in the order of enqueue again',
    },
  },
  {
    name: 'a completion frees its order key on PostgreSQL',
    promise: 'The next task of an order key runs when the one before has finished.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'SELECT order_key FROM ended WHERE order_key IS NOT NULL RETURNING key',
    replace: 'SELECT order_key FROM ended WHERE order_key IS NULL RETURNING key',
    test: { file: POSTGRES, title: ONE_AT_A_TIME },
  },
  {
    name: 'a cancel frees its order key',
    promise: 'A cancelled task does not hold its order key.',
    file: 'src/store/scripts/task-changes.ts',
    find: 'if (keys.length > 0) yield* changing.freeOrders(keys)',
    replace: '',
    test: { file: SQLITE, title: 'a suspended task holds its key until its signal' },
  },
]
