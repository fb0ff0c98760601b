import type { Task } from '../../src/http/wire.ts'
import { writeJson } from '../api/exact-json.ts'

/** What enqueues the same once more, as a shell takes it. */
export function asCommand({ name, input }: Task): string {
  const words = ['gleaner', 'enqueue', name]
  if (input !== null && input !== undefined) words.push(quoted(writeJson(input, 0)))
  return words.join(' ')
}

/** Inside single quotes a shell understands nothing but their end. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
