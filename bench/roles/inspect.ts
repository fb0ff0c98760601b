import { type ContenderName, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import { percentile } from '../statistics.ts'

/** How long the two questions of every dashboard take: how many are there, and show me the first page. */
export async function run(params: {
  contender: ContenderName
  place: string
  times: number
}): Promise<{ countsMs: number | undefined; firstPageMs: number | undefined }> {
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, { durability: 'normal', pollMs: POLL_SHORT_MS })
  const result = {
    countsMs: queue.counts && (await typicalMs(queue.counts, params.times)),
    firstPageMs: queue.firstPage && (await typicalMs(queue.firstPage, params.times)),
  }
  await queue.close()
  return result
}

async function typicalMs(ask: () => Promise<unknown>, times: number): Promise<number> {
  const elapsed: number[] = []
  for (let time = 0; time < times; time++) {
    const startedMs = performance.now()
    await ask()
    elapsed.push(performance.now() - startedMs)
  }
  return percentile(elapsed, 0.5)
}
