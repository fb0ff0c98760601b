import { shown } from '../define/names.ts'
import { encodePayload } from '../define/payload.ts'
import { checkSignalName } from '../define/step.ts'
import type { SignalSent, SignalTarget, Task } from '../define/types.ts'
import { GleanerError, InputError, TaskGone } from '../errors.ts'
import { readRowId, rowId } from '../model/row.ts'
import type { Within } from '../store/ports/new-task.ts'
import type { NewSignal, SignalAnswer } from '../store/ports/signals.ts'
import type { Store } from '../store/ports/store.ts'

type SignalStore = Pick<Store, 'steps' | 'rows'>

/** When it resolves, the signal is stored. */
export async function sendSignal(
  store: SignalStore,
  bytesMax: number,
  [target, name, payload]: [target: SignalTarget, name: string, payload?: unknown],
): Promise<SignalSent> {
  const signal = newSignal(target, name, payload, bytesMax)
  const row = 'item' in signal.to ? readRowId(signal.to.item) : null
  if (row !== null && (await store.rows.getRow(row.discovery, row.key)) === null) throw rowGone(row)
  return sent(signal, await store.steps.sendSignal(signal))
}

/** In a transaction of the user's own. Whether a row needs work is not looked up there. */
export function sendSignalWithin(
  within: Within,
  bytesMax: number,
  [target, name, payload]: [target: SignalTarget, name: string, payload?: unknown],
): SignalSent | Promise<SignalSent> {
  const signal = newSignal(target, name, payload, bytesMax)
  const answer = within.signal(signal)
  return answer instanceof Promise ? answer.then((one) => sent(signal, one)) : sent(signal, answer)
}

function newSignal(target: SignalTarget, name: string, payload: unknown, bytesMax: number): NewSignal {
  checkSignalName(name)
  return {
    to: addressOf(target),
    name,
    payload: encodePayload(payload, `payload of the signal ${name}`, bytesMax, 'SIGNAL_TOO_LARGE'),
  }
}

function addressOf(target: SignalTarget): NewSignal['to'] {
  if (typeof target === 'string') return { item: target }
  if (typeof target === 'object' && target !== null) {
    if ('discovery' in target && 'row' in target) return { item: rowId(target.discovery, String(target.row)) }
    if ('task' in target && 'key' in target) return { task: nameOf(target.task), key: String(target.key) }
  }
  throw new InputError(`signal: ${shown(target)} is not a task or a row`, {
    code: 'BAD_OPTION',
    hint: 'Pass the id of a task, { task, key } or { discovery, row }.',
  })
}

function nameOf(task: Task | string): string {
  return typeof task === 'string' ? task : task.name
}

function sent({ to, name }: NewSignal, answer: SignalAnswer): SignalSent {
  if (answer === 'gone') throw 'item' in to ? new TaskGone(to.item) : keyGone(to)
  if (answer === 'finished') throw finished(to, name)
  return { resumed: answer === 'resumes' }
}

function keyGone({ task, key }: { task: string; key: string }): GleanerError {
  return new GleanerError(`no task ${task} with the key ${shown(key)} is unfinished`, {
    code: 'TASK_GONE',
    hint: 'It has finished, or it was enqueued under another key. gleaner.tasks.list({ name, key }) shows all tasks with a key.',
  })
}

function finished(to: NewSignal['to'], name: string): GleanerError {
  const which = 'item' in to ? `task ${to.item}` : `the task ${to.task} with the key ${shown(to.key)}`
  return new GleanerError(`${which} has finished: it takes no signal ${name}`, {
    code: 'TASK_STATE',
    hint: 'Send a signal before or while the task waits for it.',
  })
}

function rowGone({ discovery, key }: { discovery: string; key: string }): GleanerError {
  return new GleanerError(`${discovery} has no row ${shown(key)} that needs work`, {
    code: 'ROW_GONE',
    hint: `discoveries.explain('${discovery}', key) says why.`,
  })
}
