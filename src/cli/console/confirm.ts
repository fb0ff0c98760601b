import { UsageError, type Values } from './command.ts'
import type { Terminal } from './terminal.ts'

/** Whether to go on with `what`, which begins as a sentence does. Who cannot be asked must have said so before: a script that destroys by mistake is the worst kind. */
export async function confirmed(what: string, values: Values, terminal: Terminal): Promise<boolean> {
  if (values.yes === true) return true
  if (!terminal.canAsk)
    throw new UsageError(
      `${what}: the command cannot ask without a terminal`,
      'Nothing was changed. Pass --yes to confirm.',
    )
  const answer = await terminal.ask(`${what}? [y/N] `)
  if (/^y(es)?$/i.test(answer?.trim() ?? '')) return true
  terminal.complain('nothing was changed')
  return false
}
