import { writeExactly } from '../../src/exact-json.ts'
import type { Task } from '../../src/http/wire/types.ts'

const PRIORITY_DEFAULT = 100

/** What enqueues the same once more, as a shell takes it. */
export function asCommand({ name, input, priority, queue, key }: Task): string {
  const words = ['gleaner enqueue', name]
  if (input !== null && input !== undefined) words.push(quoted(writeExactly(input)))
  if (priority !== PRIORITY_DEFAULT) words.push(`--priority ${priority}`)
  if (queue !== 'default') words.push(`--queue ${queue}`)
  if (key !== null) words.push(`--key=${quoted(key)}`)
  return words.join(' ')
}

/** Inside single quotes a shell understands nothing but their end. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
