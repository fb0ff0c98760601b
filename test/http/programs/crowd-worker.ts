import { openGleaner } from '../../../src/index.ts'
import { argument, say, whenTold } from '../../journeys/program.ts'
import { plain } from '../crowd.ts'

const { database } = argument<{ database: string }>()
const gleaner = await openGleaner({ database, tasks: [plain] })
const worker = gleaner.work({ concurrency: 20 })
await worker.drained()
say('ready')
whenTold('work', async ({ tasks }) => {
  await gleaner.pause()
  for (let left = tasks; left > 0; left -= 1_000)
    await gleaner.enqueueMany(plain, Array(Math.min(left, 1_000)).fill(undefined))
  const [sinceMs, sinceCpu] = [performance.now(), process.cpuUsage()]
  await gleaner.resume()
  await worker.drained()
  const { user, system } = process.cpuUsage(sinceCpu)
  say('worked', { ms: performance.now() - sinceMs, cpuMs: (user + system) / 1_000 })
})
