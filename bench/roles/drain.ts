import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import {
  type ContenderName,
  loadContender,
  POLL_SHORT_MS,
  type Spread,
  type TaskSide,
} from '../contenders/contender.ts'
import type { LimitsName } from '../scenarios/limits.ts'
import type { Parent } from './role.ts'

export interface DrainResult {
  ran: number
  startedMs: number
  endedMs: number
  /** From the start of the worker until its first task ran. */
  firstAfterMs: number
  /** Of all threads of this process, from the start of the worker to its end. */
  cpuMs: number
  /** False when the time was up first. */
  finished: boolean
  /** Undefined: this contender does not tell. */
  errors: string[] | undefined
  rssMb: number
}

/** What a handler does. Nothing, when it is not said. */
export interface Handler {
  /** It waits, as for an answer of somebody else. */
  waitMs?: number
  logs?: number
  progress?: number
}

/** Works off what is there, from the moment the parent says go: several of these start together. */
export async function run(
  params: {
    contender: ContenderName
    place: string
    limitMs: number
    keepMs?: number
    limits?: LimitsName
    spread?: Spread
    concurrency?: number
    batch?: number
    handler?: Handler
  },
  parent: Parent,
): Promise<DrainResult> {
  const { contender, place, limitMs, handler, ...settings } = params
  const errors: string[] = []
  const onError = (error: unknown) => errors.push(String(error))
  process.on('unhandledRejection', onError)
  const { open, hidesErrors } = await loadContender(contender)
  const queue = await open(place, { durability: 'normal', pollMs: POLL_SHORT_MS, ...settings })
  let ran = 0
  let firstMs: number | undefined
  const count = () => {
    firstMs ??= monotonicMs()
    ran++
  }

  parent.tell('ready')
  await parent.hear('go')
  const cpuBefore = process.cpuUsage()
  const startedMs = monotonicMs()
  const work = queue.work({ onRun: handler === undefined ? count : handling(handler, count), onError })
  const finished = await Promise.race([
    work.drained().then(() => true),
    sleep(limitMs, false, { ref: false }),
  ])
  const endedMs = monotonicMs()
  const { user, system } = process.cpuUsage(cpuBefore)
  const ranByThen = ran
  const rssMb = process.memoryUsage.rss() / 1e6
  if (finished) {
    await work.stop()
    await queue.close()
  }
  return {
    ran: ranByThen,
    startedMs,
    endedMs,
    firstAfterMs: (firstMs ?? endedMs) - startedMs,
    cpuMs: (user + system) / 1000,
    finished,
    errors: hidesErrors ? undefined : errors,
    rssMb,
  }
}

function handling({ waitMs = 0, logs = 0, progress = 0 }: Handler, count: () => void) {
  return async (_payload: unknown, task?: TaskSide) => {
    if (waitMs > 0) await sleep(waitMs)
    for (let line = 0; line < logs; line++) await task?.log(`line ${line} of what this task has to say`)
    for (let step = 1; step <= progress; step++) await task?.progress(step / progress)
    count()
  }
}
