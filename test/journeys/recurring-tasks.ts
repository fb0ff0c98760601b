import { defineTask } from '../../src/index.ts'

/** Known to the test and to the processes that it starts. */
export const everySecond = defineTask({ name: 'every-second', every: '1s', run: () => process.pid })
