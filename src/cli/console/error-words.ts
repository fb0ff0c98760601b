import { GleanerError } from '../../errors.ts'
import { messageOf } from '../../thrown.ts'
import { asCommands } from './as-commands.ts'
import { UsageError } from './command.ts'

/** The message of ours ends with the hint, which has a line of its own here. */
export function wordsOf(error: unknown): [message: string, hint: string] {
  if (error instanceof UsageError) return [error.message, error.hint ?? '']
  if (!(error instanceof GleanerError)) return [messageOf(error), '']
  const { message, hint = '' } = error
  const isPart = hint !== '' && message.endsWith(`. ${hint}`)
  return [isPart ? message.slice(0, -`. ${hint}`.length) : message, asCommands(hint)]
}
