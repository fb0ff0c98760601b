import { parseArgs } from 'node:util'
import { GleanerError } from '../errors.ts'
import { type Command, UsageError, type Values } from './command.ts'
import { doctor } from './commands/doctor.ts'
import { init } from './commands/init.ts'
import { pause, resume } from './commands/pausing.ts'
import { start } from './commands/start.ts'
import { status } from './commands/status.ts'
import { top } from './commands/top.ts'
import { work } from './commands/work.ts'
import { workers } from './commands/workers.ts'
import { commandHelp, generalHelp, HELP_OPTION } from './help.ts'
import { nearest } from './suggest.ts'
import type { Terminal } from './terminal.ts'
import { packageVersion } from './version.ts'

export const COMMANDS: readonly Command[] = [init, start, work, status, top, workers, pause, resume, doctor]

/** Answers the exit code: 0 success, 1 failure, 2 wrong usage. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(args, terminal)
  } catch (error) {
    return explained(error, terminal)
  }
}

async function dispatch([first, ...rest]: readonly string[], terminal: Terminal): Promise<number> {
  if (first === undefined) {
    terminal.complain(generalHelp(COMMANDS, terminal))
    return 2
  }
  if (first === '--version' || first === '-v') return printed(packageVersion(), terminal)
  if (['--help', '-h', 'help'].includes(first)) {
    const about = rest[0] === undefined ? undefined : commandOf(rest[0])
    return printed(
      about === undefined ? generalHelp(COMMANDS, terminal) : commandHelp(about, terminal),
      terminal,
    )
  }
  const command = commandOf(first)
  const { operands, values } = parsed(command, rest)
  if (values.help === true) return printed(commandHelp(command, terminal), terminal)
  return command.run(operands, values, terminal)
}

function commandOf(word: string): Command {
  const command = COMMANDS.find(({ name }) => name === word)
  if (command !== undefined) return command
  const names = COMMANDS.map(({ name }) => name)
  if (word.startsWith('-'))
    throw new UsageError(`there is no option ${word} without a command`, 'See gleaner --help.')
  const meant = nearest(word, names)
  throw new UsageError(
    `there is no command ${word}`,
    meant === undefined ? 'See gleaner --help.' : `Did you mean: gleaner ${meant}`,
  )
}

function parsed(command: Command, args: readonly string[]): { operands: string[]; values: Values } {
  const options: Command['options'] = { ...command.options, help: HELP_OPTION }
  // Not strict: its messages do not tell what was meant.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const option = options[token.name]
    if (option === undefined) throw unknownOption(command, token.rawName)
    if (option.type === 'string' && (token.value === undefined || token.value === ''))
      throw new UsageError(`${token.rawName} needs a value`, `See gleaner ${command.name} --help.`)
    if (option.type === 'boolean' && token.value !== undefined)
      throw new UsageError(`${token.rawName} takes no value`, `Write ${token.rawName} alone.`)
  }
  const tooMany = positionals[command.operandsMax]
  if (tooMany !== undefined)
    throw new UsageError(`gleaner ${command.name} takes no ${tooMany}`, `See gleaner ${command.name} --help.`)
  return { operands: positionals, values: values as Values }
}

function unknownOption({ name, options }: Command, written: string): UsageError {
  const meant = nearest(
    written,
    [...Object.keys(options), 'help'].map((long) => `--${long}`),
  )
  return new UsageError(
    `gleaner ${name} has no option ${written}`,
    meant === undefined ? `See gleaner ${name} --help.` : `Did you mean: ${meant}`,
  )
}

function printed(text: string, terminal: Terminal): number {
  terminal.print(text)
  return 0
}

function explained(error: unknown, { complain, style, env }: Terminal): number {
  if (error instanceof UsageError) {
    complain(`${style('red', 'error:')} ${error.message}`)
    if (error.hint !== undefined) complain(error.hint)
    return 2
  }
  if (error instanceof GleanerError) {
    const { message, hint = '' } = error
    complain(`${style('red', 'error:')} ${hint === '' ? message : message.slice(0, -` ${hint}`.length)}`)
    if (hint !== '') complain(hint)
  } else complain(`${style('red', 'error:')} ${error instanceof Error ? error.message : String(error)}`)
  if (env.GLEANER_DEBUG && error instanceof Error) complain(error.stack ?? '')
  return 1
}
