import { copyDatabase } from '../../../src/maintenance/copy.ts'
import { argument, say } from '../../journeys/program.ts'

/** Copies, and stands still for ever when half of it is written. */
const { database, to } = argument<{ database: string; to: string }>()
await copyDatabase({
  from: database,
  to,
  onProgress({ table, copied, total }) {
    if (copied < total / 2) return
    say('halfway', { table })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})
