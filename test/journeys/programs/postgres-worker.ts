import { once } from 'node:events'
import { openGleaner } from '../../../src/index.ts'
import { endless, where } from '../postgres-tasks.ts'

/** Waits for the word, opens the database, and works until it is told to stop. Looks by itself every 5 minutes only. */
const { database, schema } = JSON.parse(process.argv[2]!)
process.send!({ kind: 'waiting' })
await once(process, 'message')
try {
  const gleaner = await openGleaner({
    database,
    tasks: [where, endless],
    postgres: { schema, poolSize: 3 },
    timings: { idleMin: '5m', idleMax: '5m' },
  })
  gleaner.on('started', ({ id }) => process.send!({ kind: 'started', id }))
  await gleaner.work().drained()
  process.send!({ kind: 'idle', pid: process.pid })
  await once(process, 'message')
  await gleaner.close()
  process.send!({ kind: 'closed' })
} catch (error) {
  process.send!({ kind: 'failed', error: String(error) })
}
process.disconnect()
