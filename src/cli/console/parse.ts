import { parseArgs } from 'node:util'
import { nearest } from '../../options.ts'
import { type Command, type Operand, type Option, UsageError, type Values } from './command.ts'

export const HELP_OPTION: Option = { type: 'boolean', short: 'h', about: 'Show this help.' }

/** What was typed: a command with all it was given, or a wish for help about what these words name. */
export type Parsed =
  | { kind: 'run'; command: Command; operands: string[]; values: Values }
  | { kind: 'help'; words: readonly string[] }

const HELP = ['--help', '-h', 'help']

export function parse(commands: readonly Command[], args: readonly string[]): Parsed {
  const [first = '', ...rest] = args
  if (HELP.includes(first)) return { kind: 'help', words: knownWords(commands, rest) }
  const verbs = verbsOf(commands, first)
  if (verbs.length === 0) {
    const command = commandCalled(commands, first)
    return parsed(command, rest)
  }
  const [second, ...more] = rest
  if (second !== undefined && HELP.includes(second))
    return { kind: 'help', words: knownWords(commands, [first, ...more]) }
  // A group alone is its list: `gleaner tasks --status failed`.
  if (second === undefined || second.startsWith('-'))
    return parsed(commandNamed(commands, `${first} list`)!, rest)
  return parsed(commandNamed(commands, `${first} ${second}`) ?? noVerb(commands, first, second), more)
}

/** The second words of a group; none: it is no group. */
export function verbsOf(commands: readonly Command[], group: string): string[] {
  return commands.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []))
}

export function commandNamed(commands: readonly Command[], name: string): Command | undefined {
  return commands.find((one) => one.name === name)
}

/** Names of commands, and of groups. */
export function firstWords(commands: readonly Command[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ')[0]!))]
}

function knownWords(commands: readonly Command[], words: readonly string[]): string[] {
  const [first, second] = words.filter((word) => !word.startsWith('-'))
  if (first === undefined) return []
  const verbs = verbsOf(commands, first)
  if (verbs.length === 0) return [commandCalled(commands, first).name]
  if (second === undefined) return [first]
  return [first, verbs.includes(second) ? second : noVerb(commands, first, second)]
}

function commandCalled(commands: readonly Command[], word: string): Command {
  const command = commandNamed(commands, word)
  if (command !== undefined) return command
  if (word.startsWith('-'))
    throw new UsageError(`there is no option ${word} without a command`, 'See gleaner --help.')
  const meant = nearest(word, firstWords(commands))
  throw new UsageError(
    `there is no command ${word}`,
    meant === undefined ? 'See gleaner --help.' : `Did you mean: gleaner ${meant}`,
  )
}

function noVerb(commands: readonly Command[], group: string, word: string): never {
  const verbs = verbsOf(commands, group)
  const meant = nearest(word, verbs)
  throw new UsageError(
    `there is no command gleaner ${group} ${word}`,
    meant === undefined
      ? (sameVerb(commands, word) ?? `There are: ${verbs.join(', ')}.`)
      : `Did you mean: gleaner ${group} ${meant}`,
  )
}

/** A queue is paused by `gleaner pause <queue>`, and not by its group. */
function sameVerb(commands: readonly Command[], word: string): string | undefined {
  const [operand] = commandNamed(commands, word)?.operands ?? []
  return operand === undefined ? undefined : `Did you mean: gleaner ${word} <${operand.name}>`
}

function parsed(command: Command, args: readonly string[]): Parsed {
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
    checkOption(command, option, token)
  }
  if (values.help === true) return { kind: 'help', words: command.name.split(' ') }
  checkOperands(command, positionals)
  return { kind: 'run', command, operands: positionals, values: values as Values }
}

function checkOption(
  { name }: Command,
  option: Option,
  { rawName, value }: { rawName: string; value?: string | undefined },
): void {
  if (option.type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`, `Write ${rawName} alone.`)
    return
  }
  if (value === undefined || value === '')
    throw new UsageError(`${rawName} needs a value`, `See gleaner ${name} --help.`)
  if (option.choices !== undefined) checkChoice(rawName, value, option.choices)
  option.check?.(value, rawName)
}

function checkOperands({ name, operands }: Command, given: readonly string[]): void {
  const missing = operands.find((operand, i) => !operand.optional && given[i] === undefined)
  if (missing !== undefined)
    throw new UsageError(`gleaner ${name} needs ${operandWord(missing)}`, `See gleaner ${name} --help.`)
  const last = operands.at(-1)
  const tooMany = last?.many === true ? undefined : given[operands.length]
  if (tooMany !== undefined)
    throw new UsageError(
      `gleaner ${name} does not take the argument ${tooMany}`,
      `See gleaner ${name} --help.`,
    )
  for (const [i, { name: what, choices }] of operands.entries()) {
    if (choices !== undefined && given[i] !== undefined) checkChoice(what, given[i], choices)
  }
}

function checkChoice(what: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  const meant = nearest(value, choices)
  throw new UsageError(
    `${what}: there is no ${value}`,
    meant === undefined ? `There are: ${choices.join(', ')}.` : `Did you mean ${meant}?`,
  )
}

/** `<id>`, `[queue]`, `[id …]`. */
export function operandWord({ name, optional, many }: Operand): string {
  const word = many ? `${name} …` : name
  return optional ? `[${word}]` : `<${word}>`
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
