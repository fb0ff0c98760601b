import { openGleaner } from '../../../src/index.ts'
import { argument, say, told } from '../program.ts'
import { tasks } from '../tasks.ts'

/** Pulls one task by hand, and completes it when it is told to. */
const { database, timings } = argument<{ database: string; timings?: object }>()
const gleaner = await openGleaner({ database, tasks, timings })
const released = told('release')
const [claim] = await gleaner.claim({ names: ['effect', 'quick'], wait: '20s' })
if (claim === undefined) throw new Error('nothing came')
claim.signal.addEventListener('abort', () => say('aborted', { code: claim.signal.reason.code }))
say('claimed', { id: claim.id, fence: claim.fence, attempt: claim.attempt })
await released
try {
  await claim.complete(process.pid, (tx: any) => {
    tx.prepare('INSERT INTO effects (task, pid) VALUES (?, ?)').run(Number(claim.id), process.pid)
  })
  say('completed')
} catch (error) {
  say('refused', { code: (error as { code?: string }).code })
}
await gleaner.close()
