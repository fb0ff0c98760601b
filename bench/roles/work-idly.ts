import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import { type ContenderName, type Durability, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import type { Parent } from './role.ts'

export interface Ran {
  n: number
  atMs: number
}

/** A worker with nothing to do: says when it ran something, and what it cost the processor to wait. */
export async function run(
  params: { contender: ContenderName; place: string; durability: Durability },
  parent: Parent,
): Promise<void> {
  const { open, pollMs } = await loadContender(params.contender)
  const queue = await open(params.place, {
    durability: params.durability,
    pollMs: pollMs ?? POLL_SHORT_MS,
  })
  const work = queue.work({
    onRun({ n }) {
      const atMs = monotonicMs()
      parent.tell('ran', { n, atMs } satisfies Ran)
    },
    onError: (error) => parent.tell('error', String(error)),
  })
  parent.tell('ready', pollMs)

  for (;;) {
    const seconds = await parent.hear<number>('measure-cpu')
    if (seconds === 0) break
    const before = process.cpuUsage()
    const startedMs = monotonicMs()
    await sleep(seconds * 1000)
    const { user, system } = process.cpuUsage(before)
    parent.tell('cpu', ((user + system) / 1000 / (monotonicMs() - startedMs)) * 100)
  }
  await work.stop()
  await queue.close()
}
