import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import { type ContenderName, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import type { Parent } from './role.ts'

const CHECK_MS = 20

export interface Worked {
  /** Which tasks ran, and when: in the order of their start. */
  ran: { n: number[]; atMs: number[] }
  /** Of all threads of this process, between "begin" and "end". */
  cpuMs: number
}

/** A worker that runs what comes until the parent says that this was all. */
export async function run(
  params: { contender: ContenderName; place: string; concurrency?: number },
  parent: Parent,
): Promise<Worked> {
  const { open, pollMs } = await loadContender(params.contender)
  const queue = await open(params.place, {
    durability: 'full',
    pollMs: pollMs ?? POLL_SHORT_MS,
    concurrency: params.concurrency,
  })
  const ran: Worked['ran'] = { n: [], atMs: [] }
  const errors: unknown[] = []
  const work = queue.work({
    onRun({ n }) {
      ran.n.push(n)
      ran.atMs.push(monotonicMs())
    },
    onError: (error) => errors.push(error),
  })
  parent.tell('ready')
  void parent.hear<number>('await').then(async (count) => {
    while (ran.n.length < count) await sleep(CHECK_MS)
    parent.tell('all')
  })

  await parent.hear('begin')
  const before = process.cpuUsage()
  await parent.hear('end')
  const { user, system } = process.cpuUsage(before)
  await work.stop()
  await queue.close()
  if (errors.length > 0)
    throw new Error(`the worker was told of ${errors.length} errors`, { cause: errors[0] })
  return { ran, cpuMs: (user + system) / 1000 }
}
