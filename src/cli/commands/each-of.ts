import type { Values } from '../console/command.ts'
import { wordsOf } from '../console/error-words.ts'
import { printJson } from '../console/printing.ts'
import type { Terminal } from '../console/terminal.ts'

/** One after the other; one that fails hides none of the others, and the exit code tells. `act` answers what was done, in words. */
export async function eachOf(
  names: readonly string[],
  values: Values,
  terminal: Terminal,
  act: (name: string) => Promise<string>,
): Promise<number> {
  const outcomes: { id: string; done: string | null; error: string | null }[] = []
  for (const id of names) {
    try {
      const done = await act(id)
      outcomes.push({ id, done, error: null })
      if (values.json !== true) terminal.print(done)
    } catch (error) {
      if (names.length === 1 && values.json !== true) throw error
      const [message] = wordsOf(error)
      outcomes.push({ id, done: null, error: message })
      if (values.json !== true) terminal.complain(`${terminal.style('red', 'error:')} ${message}`)
    }
  }
  if (values.json === true) printJson(outcomes, terminal)
  return outcomes.some(({ error }) => error !== null) ? 1 : 0
}
