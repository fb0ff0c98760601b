import type { Guard } from './guard.ts'

const FILE = 'test/worker/batches.test.ts'

/** What one item of a call must not do to the others. */
export const BATCHES: readonly Guard[] = [
  {
    name: 'batches: items that are presumed good go together',
    promise: 'One item that makes a call throw costs its batch 8 calls at most.',
    file: 'src/worker/batches/culprits.ts',
    find: 'good.push(...other)',
    replace: 'for (const entry of other) await callAlone(entry, call)',
    test: {
      file: FILE,
      title: 'that throws for one item is called 8 times more at most, and that item alone fails',
    },
  },
  {
    name: 'batches: a passing error charges nobody',
    promise: 'An item fails only if it was to blame.',
    file: 'src/worker/batches/culprits.ts',
    find: 'if (isProven) culprit.reject(thrown)',
    replace: 'if (thrown !== undefined) culprit.reject(thrown)',
    test: {
      file: FILE,
      title: 'that failed only once together are all done, because none of them fails alone',
    },
  },
  {
    name: 'batches: what was cancelled is in no further call',
    promise: 'A cancelled item does not cost its neighbours an attempt.',
    file: 'src/worker/batches/batches.ts',
    find: 'if (rest.length < live.length) return this.#call(definition, rest)',
    replace: 'if (rest.length < live.length) return rejectAll(rest, error)',
    test: {
      file: FILE,
      title: 'that were cancelled during a call that throws are left out of the next one',
    },
  },
  {
    name: 'batches: a call takes one slot, and its end frees one',
    promise: 'No more handlers run at the same time than the concurrency says.',
    file: 'src/worker/executor.ts',
    find: 'if (source !== undefined && !isTaken) {',
    replace: 'if (source !== undefined) {',
    test: { file: FILE, title: 'go on beside other tasks, and take one slot' },
  },
]
