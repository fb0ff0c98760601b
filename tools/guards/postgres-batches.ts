import type { Guard } from './guard.ts'

const CONFORMANCE = 'test/store/postgres.conformance.test.ts'
const OWN = 'test/store/postgres/batches.test.ts'

/** What is found by the rows of what was claimed, or finished, together. */
export const POSTGRES_BATCHES: readonly Guard[] = [
  {
    name: 'postgres: a batch is not spent before all of it is settled',
    promise: 'What a session held goes back when it ends.',
    file: 'src/store/postgres/batches.ts',
    find: 'tasks.size === 0 ?',
    replace: 'tasks.size <= 1 ?',
    test: {
      file: CONFORMANCE,
      title: 'what is handed in twice does not hide the rest of its batch: that still goes back',
    },
  },
  {
    name: 'postgres: batches do not pile up',
    promise: 'A session that lives for months keeps rows of what it holds only.',
    file: 'src/store/postgres/batches.ts',
    find: 'batches?.get(fence)?.delete(id)',
    replace: 'batches?.get(fence)?.has(id)',
    test: { file: OWN, title: 'the row of a batch goes when all of it is settled, however it ended' },
  },
  {
    name: 'postgres: what ended is found among those that ended',
    promise: 'A listing of finished tasks leaves none out.',
    file: 'src/store/postgres/transition.ts',
    find: '  await fileFinished(sql, task.lane, status, now, [task.id])\n',
    replace: '',
    test: { file: 'test/store/postgres/views.test.ts', title: 'failures says what failed, and why' },
  },
  {
    name: 'postgres: what runs again is not among those that ended',
    promise: 'A task that was retried and ended again is listed once.',
    file: 'src/store/postgres/manage.ts',
    find: '  await unfileFinished(sql, [row])\n',
    replace: '',
    test: { file: OWN, title: 'a task that was retried is listed once when it has ended again' },
  },
  {
    name: 'postgres: the next are asked for while the last run',
    promise: 'The server works while the worker does.',
    file: 'src/worker/pace.ts',
    find: 'return wanted && ahead > 0 &&',
    replace: 'return wanted && ahead < 0 &&',
    test: {
      file: 'test/store/postgres/early-claims.test.ts',
      title: 'while the server looks for the next short tasks, those of the last claim run',
    },
  },
]
