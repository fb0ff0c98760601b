import { UsageError } from './console/command.ts'
import { wordsOf } from './console/error-words.ts'
import { commandHelp, generalHelp, groupHelp } from './console/help.ts'
import { commandNamed, parse } from './console/parse.ts'
import type { Terminal } from './console/terminal.ts'
import { packageVersion } from './console/version.ts'
import { COMMANDS } from './table.ts'

/** Answers the exit code: 0 success, 1 failure, 2 wrong usage. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(args, terminal)
  } catch (error) {
    return explained(error, terminal)
  }
}

async function dispatch(args: readonly string[], terminal: Terminal): Promise<number> {
  if (args.length === 0) {
    for (const line of generalHelp(COMMANDS, terminal).split('\n')) terminal.complain(line)
    return 2
  }
  if (args[0] === '--version' || args[0] === '-v') return printed(packageVersion(), terminal)
  const asked = parse(COMMANDS, args)
  if (asked.kind === 'help') return printed(helpOn(asked.words, terminal), terminal)
  return asked.command.run(asked.operands, asked.values, terminal)
}

function helpOn(words: readonly string[], terminal: Terminal): string {
  const command = commandNamed(COMMANDS, words.join(' '))
  if (command !== undefined) return commandHelp(command, terminal)
  const [group] = words
  return group === undefined ? generalHelp(COMMANDS, terminal) : groupHelp(COMMANDS, group, terminal)
}

function printed(text: string, terminal: Terminal): number {
  for (const line of text.split('\n')) terminal.print(line)
  return 0
}

function explained(error: unknown, { complain, style, env }: Terminal): number {
  const [message, hint] = wordsOf(error)
  complain(`${style('red', 'error:')} ${message}`)
  if (hint !== '') complain(hint)
  if (error instanceof UsageError) return 2
  if (env.GLEANER_DEBUG && error instanceof Error)
    for (const line of (error.stack ?? '').split('\n')) complain(line)
  return 1
}
