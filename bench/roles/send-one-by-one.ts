import { monotonicMs } from '../clock.ts'
import { type ContenderName, type Durability, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import { payloadOf } from '../payload.ts'
import type { Parent } from './role.ts'

export interface Sent {
  calledMs: number
  acknowledgedMs: number
}

/** An application that enqueues a task whenever it is told to. */
export async function run(
  params: { contender: ContenderName; place: string; durability: Durability },
  parent: Parent,
): Promise<void> {
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, { durability: params.durability, pollMs: POLL_SHORT_MS })
  parent.tell('ready')
  for (;;) {
    const n = await parent.hear<number>('send')
    if (n < 0) break
    const payload = [payloadOf(n)]
    const calledMs = monotonicMs()
    await queue.enqueueEach(payload)
    parent.tell('sent', { calledMs, acknowledgedMs: monotonicMs() } satisfies Sent)
  }
  await queue.close()
}
