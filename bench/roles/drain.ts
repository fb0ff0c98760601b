import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import { type ContenderName, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import type { LimitsName } from '../scenarios/limits.ts'
import type { Parent } from './role.ts'

export interface DrainResult {
  ran: number
  startedMs: number
  endedMs: number
  /** False when the time was up first. */
  finished: boolean
  /** Undefined: this contender does not tell. */
  errors: string[] | undefined
  rssMb: number
}

/** Works off what is there, from the moment the parent says go: several of these start together. */
export async function run(
  params: { contender: ContenderName; place: string; limitMs: number; keepMs?: number; limits?: LimitsName },
  parent: Parent,
): Promise<DrainResult> {
  const errors: string[] = []
  const onError = (error: unknown) => errors.push(String(error))
  process.on('unhandledRejection', onError)
  const { open, hidesErrors } = await loadContender(params.contender)
  const queue = await open(params.place, {
    durability: 'normal',
    pollMs: POLL_SHORT_MS,
    keepMs: params.keepMs,
    limits: params.limits,
  })
  let ran = 0

  parent.tell('ready')
  await parent.hear('go')
  const startedMs = monotonicMs()
  const work = queue.work({ onRun: () => void ran++, onError })
  const finished = await Promise.race([
    work.drained().then(() => true),
    sleep(params.limitMs, false, { ref: false }),
  ])
  const endedMs = monotonicMs()
  const ranByThen = ran
  const rssMb = process.memoryUsage.rss() / 1e6
  if (finished) {
    await work.stop()
    await queue.close()
  }
  return { ran: ranByThen, startedMs, endedMs, finished, errors: hidesErrors ? undefined : errors, rssMb }
}
