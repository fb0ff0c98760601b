import type { Guard } from './guard.ts'

const EVERYWHERE = 'test/cli/everywhere.test.ts'
const LIVE =
  'beside a running gleaner start on sqlite > gleaner tasks logs --follow tells what a worker process says, as it says it'

export const FOLLOWING: readonly Guard[] = [
  {
    name: 'following: ends as the task does',
    promise: 'A script that follows a task knows whether it failed.',
    file: 'src/cli/following.ts',
    find: "return status === 'completed' ? 0 : 1",
    replace: 'return 0',
    test: {
      file: EVERYWHERE,
      title: 'beside a running gleaner start on sqlite > direct > gleaner tasks logs',
    },
  },
  {
    name: 'following: Ctrl-C ends it',
    promise: 'Who has seen enough can leave, and what follows is not taken for a success.',
    file: 'src/cli/following.ts',
    find: '    () => stop.abort(),\n',
    replace: '    () => process.exit(0),\n',
    test: { file: EVERYWHERE, title: LIVE },
  },
  {
    name: 'following: a page says where to go on',
    promise: 'What is logged later is found, and nothing is told twice.',
    file: 'src/store/log-row.ts',
    find: 'if (!follow || page.next !== null) return page',
    replace: 'if (follow || page.next !== null) return page',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'who follows is told where to go on, also where there is nothing more yet',
    },
  },
]
