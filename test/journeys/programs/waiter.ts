import { openGleaner } from '../../../src/index.ts'
import { argument, say } from '../program.ts'
import { quick, tasks } from '../tasks.ts'

/** Waits for a result that nobody will bring, and closes. */
const { database } = argument<{ database: string }>()
const gleaner = await openGleaner({ database, tasks })
const handle = await gleaner.enqueue(quick, 1)
const refused = handle.result().catch((error) => say('refused', { code: error.code }))
await gleaner.close()
await refused
