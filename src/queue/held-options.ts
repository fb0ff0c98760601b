import { shown } from '../define/names.ts'
import type { EnqueueOptions } from '../define/types.ts'
import { durationMs } from '../duration.ts'
import { type ErrorCode, InputError } from '../errors.ts'
import type { WhenHeld } from '../model/held-key.ts'

/** `debounce`, `throttle` and `whenHeld`, checked. Null: whoever holds the key stays as it is. */
export function checkWhenHeld(options: EnqueueOptions): WhenHeld | null {
  const { debounce, maxWait, throttle, whenHeld } = options
  const given = (['debounce', 'throttle', 'whenHeld'] as const).filter((name) => options[name] !== undefined)
  if (maxWait !== undefined && debounce === undefined) {
    throw bad('maxWait without debounce', 'It says how long a debounced task waits in all.')
  }
  if (given.length === 0) return null
  if (given.length > 1) throw bad(given.join(' together with '), 'Choose one of them.')
  if (options.key === undefined) {
    throw bad(`${given[0]} without a key`, 'The key says which tasks are meant to be one.', 'BAD_KEY')
  }
  if (options.keyScope === 'forever') {
    throw bad(`${given[0]} together with keyScope 'forever'`, 'Such a key is never free again.', 'BAD_KEY')
  }
  if (debounce !== undefined) return debounced(options)
  if (throttle !== undefined) return { kind: 'throttle', ms: positiveMs(throttle, 'throttle') }
  if (whenHeld === 'keep') return null
  if (whenHeld === 'replace') return { kind: 'replace' }
  throw bad(`whenHeld: ${shown(whenHeld)}`, "Use 'keep' (the default) or 'replace'.")
}

function debounced({ debounce, maxWait, runAfter }: EnqueueOptions): WhenHeld {
  if (runAfter !== undefined) throw bad('debounce together with runAfter', 'debounce says when it runs.')
  const ms = positiveMs(debounce, 'debounce')
  const maxWaitMs = maxWait === undefined ? null : positiveMs(maxWait, 'maxWait')
  if (maxWaitMs !== null && maxWaitMs < ms) {
    throw bad('maxWait shorter than debounce', 'A task that is enqueued once waits for `debounce`.')
  }
  return { kind: 'debounce', ms, maxWaitMs }
}

function positiveMs(value: unknown, what: string): number {
  const ms = durationMs(value, what)
  if (ms > 0) return ms
  throw bad(`${what}: ${shown(value)}`, 'Use at least a millisecond.')
}

function bad(what: string, hint: string, code: ErrorCode = 'BAD_OPTION'): InputError {
  return new InputError(`enqueue: ${what} is not valid`, { code, hint })
}
