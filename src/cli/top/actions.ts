import { plural } from '../console/words.ts'
import type { Operations } from '../operations/contract.ts'
import type { Target } from '../text/overview.ts'

/** What a key does: what is said afterwards, or what is asked before. */
export type ActionEffect = { said: string } | { question: string; onYes: () => Promise<string> }

export async function pauseOrResume(
  operations: Operations,
  { kind, name }: Target,
  paused: boolean,
): Promise<ActionEffect> {
  const verb = paused ? 'pause' : 'resume'
  const now = paused ? 'is paused' : 'is resumed'
  if (kind === 'everything') {
    await operations[verb]()
    return { said: `everything ${now}` }
  }
  if (kind === 'worker') {
    await operations.workers[verb](name)
    return { said: `${name}: its supervisor will ${verb} it` }
  }
  await operations[kind === 'queue' ? 'queues' : 'discoveries'][verb](name)
  return { said: `${kind} ${name} ${now}` }
}

/** What failed is tried again: asked before, because it may be much. */
export async function retry(operations: Operations, { kind, name }: Target): Promise<ActionEffect> {
  const { tasks, discoveries, workers } = operations
  if (kind === 'everything') return { said: 'select a queue, a discovery or a worker' }
  if (kind === 'worker')
    return {
      question: `Restart ${name} without a gap?`,
      onYes: async () => {
        await workers.restart(name)
        return `${name}: its supervisor will restart it`
      },
    }
  if (kind === 'queue') {
    const filter = { queue: name, status: 'failed' } as const
    const { changed } = await tasks.retryAll(filter, { dryRun: true })
    if (changed === 0) return { said: `${name} has no failed tasks` }
    return {
      question: `Retry ${plural(changed, 'failed task')} of ${name}?`,
      onYes: async () => `${plural((await tasks.retryAll(filter)).changed, 'task')} of ${name} retried`,
    }
  }
  const quarantined = (await discoveries.list()).find((one) => one.name === name)?.quarantined ?? 0
  if (quarantined === 0) return { said: `${name} has no quarantined rows` }
  return {
    question: `Release ${plural(quarantined, 'quarantined row')} of ${name}?`,
    onYes: async () => `${plural(await discoveries.release(name), 'row')} of ${name} released`,
  }
}
