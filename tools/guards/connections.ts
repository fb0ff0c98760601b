import type { Guard } from './guard.ts'

const SILENCE = 'src/store/postgres/server/silence.ts'
const SILENT = 'test/store/postgres/silent-connections.test.ts'
const OUTAGES = 'test/store/postgres/outages.test.ts'
const UNDER_ENQUEUE =
  'a connection that is silently dead > under enqueue: it rejects in time, and says that the task may have been stored'

/** What dead connections, failovers and a store that fails must not break. */
export const CONNECTIONS: readonly Guard[] = [
  {
    name: 'postgres: a process of the server that is not at work is not waited for',
    promise: 'A dead connection is noticed within timings.query.',
    file: SILENCE,
    find: "return known?.state === 'active' && !known.is_telling",
    replace: 'return true',
    test: { file: SILENT, title: UNDER_ENQUEUE },
  },
  {
    name: 'postgres: a process of the server that is at work is waited for',
    promise: 'Maintenance may take longer than timings.query.',
    file: SILENCE,
    find: "return known?.state === 'active' && !known.is_telling",
    replace: 'return false',
    test: {
      file: SILENT,
      title: 'a connection that is silently dead > is not what a statement that takes long waits on',
    },
  },
  {
    name: 'postgres: a statement whose answer was lost is in doubt',
    promise: 'An enqueue that rejects says whether the task may have been stored.',
    file: 'src/store/postgres/server/sql-errors.ts',
    find: '      inDoubt.add(error as object)\n',
    replace: '      void inDoubt\n',
    test: { file: SILENT, title: UNDER_ENQUEUE },
  },
  {
    name: 'keeper: it does not renew for a worker that cannot reach the store',
    promise: 'The work of a worker that is cut off is done by others after the lease.',
    file: 'src/worker/keeper/renewing.ts',
    find: '[...sessions].filter((session) => !cutOff.has(session))',
    replace: '[...sessions]',
    test: {
      file: SILENT,
      title:
        'a connection that is silently dead > of the worker, whose keeper still reaches the server for longer than the lease: another worker takes over, and the first one goes on when it is heard again',
    },
  },
  {
    name: 'postgres: the listener finds out that nothing is heard any more',
    promise: 'Wake-ups come again after the listening connection has died in silence.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: 'if (client.isWaiting) return',
    replace: 'if (client !== undefined) return',
    test: {
      file: SILENT,
      title: 'a connection that is silently dead > of the listener alone: another one listens',
    },
  },
  {
    name: 'postgres: a server that accepts no writes is away',
    promise: 'The work of a worker whose server turned read-only is done by others after the lease.',
    file: 'src/store/postgres/server/sql-errors.ts',
    find: "    /^25006$/,\n    'STORE_AWAY',\n",
    replace: "    /^25006$/,\n    'STORE_FAILED',\n",
    test: {
      file: 'test/store/postgres/hostile-settings.test.ts',
      title: 'a database that accepts no writes is refused, with what to do',
    },
  },
  {
    name: 'postgres: of several servers a standby is not used',
    promise: 'A URL may name several servers, in any order.',
    file: 'src/store/postgres/server/servers.ts',
    find: "if (this.target === 'any' || ",
    replace: 'if (this.target !== undefined || ',
    test: {
      file: 'test/store/postgres/failover.test.ts',
      title: 'of several servers the one that accepts writes is found, wherever it stands',
    },
  },
  ...([OUTAGES, 'test/store/sqlite/outages.test.ts'] as const).map((file) => ({
    name: `${file === OUTAGES ? 'postgres' : 'sqlite'}: an error of the store costs no attempt`,
    promise: 'A task is not charged for what the store itself failed with.',
    file: 'src/worker/outcome-of-error.ts',
    find: '  if (isOutage(error)) return withoutStore(attempt, error)\n',
    replace: '  void isOutage\n  void withoutStore\n',
    test: {
      file,
      title:
        file === OUTAGES
          ? 'a connection that breaks under ctx.complete costs the task no attempt'
          : 'a full disk under ctx.complete costs the task no attempt: as it is',
    },
  })),
  {
    name: "postgres: an error of the callback's own SQL is no error of the store",
    promise: 'A handler whose SQL fails is charged an attempt, and fails for good in the end.',
    file: 'src/store/postgres/server/sql-errors.ts',
    find: 'else callbacks.add(error)',
    replace: 'else void callbacks',
    test: {
      file: OUTAGES,
      title: 'a statement of the callback that waits for a lock for too long is a failure of its handler',
    },
  },
]
