import type { Guard } from './guard.ts'

/** A parent always hears of its children. */
export const FLOWS: readonly Guard[] = [
  {
    name: 'a run that is to wait looks whether its children have ended',
    promise: 'A parent whose children ended before it waits does not wait for ever.',
    file: 'src/store/scripts/children-over.ts',
    find: "!== 'wait') return true",
    replace: "!== 'wait') return false",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a parent whose children ended before it waits is queued at once',
    },
  },
  {
    name: 'children prove the claim of their parent',
    promise: 'A worker that lost its claim enqueues no children.',
    file: 'src/store/scripts/flows/make.ts',
    find: "if ((yield* provenClaim(db, session, claim)) === null) return { kind: 'lost' }",
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a worker that lost its claim enqueues no children',
    },
  },
  {
    name: 'a step that has children spawns no others',
    promise: 'A retry or a lost answer never enqueues children twice.',
    file: 'src/store/scripts/flows/make.ts',
    find: "if (kept !== null) return { kind: 'kept', flow: kept }",
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'children that a lost answer or a later attempt spawns again are enqueued once',
    },
  },
  {
    name: 'a cancelled parent cancels its children',
    promise: 'A cancel goes down the tree.',
    file: 'src/store/scripts/flows/settle.ts',
    find: "status === 'completed' || status === 'cancelled') && endsChildren(status)",
    replace: "status === 'completed') && endsChildren(status)",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a cancel goes down the tree, and the end of a failed parent leaves its children alone',
    },
  },
  {
    name: 'a child whose key an ancestor holds is refused',
    promise: 'No task waits for itself.',
    file: 'src/store/scripts/flows/make.ts',
    find: 'holders.find((id) => waiting.has(id))',
    replace: 'holders.find(() => false)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a child whose key is held by its own ancestor is refused',
    },
  },
  {
    name: 'a child with the order of an ancestor is refused',
    promise: 'No task waits for itself.',
    file: 'src/store/scripts/flows/make.ts',
    find: 'known.has(order_key)',
    replace: 'known.has(order_key) && known.size === 0',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a child with the order key of its own ancestor is refused',
    },
  },
]
