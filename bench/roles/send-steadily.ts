import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../clock.ts'
import { type ContenderName, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import { payloadOf } from '../payload.ts'
import type { Parent } from './role.ts'

export interface Steadily {
  /** When each was called, by its number. */
  calledMs: number[]
  /** Calls that were not acknowledged when all had been made. */
  unanswered: number
}

/** An application that enqueues at a steady rate, whether or not the calls before were acknowledged. */
export async function run(
  params: { contender: ContenderName; place: string; perSecond: number; seconds: number },
  parent: Parent,
): Promise<Steadily> {
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, { durability: 'full', pollMs: POLL_SHORT_MS })
  parent.tell('ready')
  await parent.hear('go')

  const calledMs: number[] = []
  const calls = new Set<Promise<void>>()
  const send = () => {
    const payload = [payloadOf(calledMs.length)]
    calledMs.push(monotonicMs())
    const call = queue.enqueueEach(payload).finally(() => calls.delete(call))
    calls.add(call)
  }
  const count = params.perSecond * params.seconds
  const startedMs = monotonicMs()
  while (calledMs.length < count) {
    const due = Math.min(count, Math.floor(((monotonicMs() - startedMs) / 1000) * params.perSecond))
    while (calledMs.length < due) send()
    await sleep(1)
  }
  const unanswered = calls.size
  await Promise.all(calls)
  await queue.close()
  return { calledMs, unanswered }
}
