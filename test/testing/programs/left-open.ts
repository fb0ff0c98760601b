import { defineTask } from '../../../src/index.ts'
import { openTestGleaner } from '../../../src/testing/index.ts'

/** Forgets to close, with something delayed, something asleep and somebody waiting. */

const nap = defineTask({ name: 'nap', run: () => t.sleep('1h') })
const t = await openTestGleaner({ tasks: [nap] })
const handle = await t.enqueue(nap)
await t.enqueue(nap, undefined, { runAfter: '1d' })
void handle.result()
await t.advance('1m')
console.log(JSON.stringify(await t.tasks.counts()))
