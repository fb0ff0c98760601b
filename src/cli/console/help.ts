import type { Command, Option } from './command.ts'
import { firstWords, HELP_OPTION, operandWord, verbsOf } from './parse.ts'
import type { Terminal } from './terminal.ts'

const WIDTH = 80
const INDENT = '    '

export const ENVIRONMENT = [
  ['GLEANER_DATABASE', 'The database. It replaces the one in the config.'],
  ['GLEANER_URL', 'The server to ask, like --url.'],
  ['GLEANER_TOKEN', 'Your token for that server, like --token. For `gleaner start`: the token of operators.'],
  ['GLEANER_VIEWER_TOKEN', 'For `gleaner start`: the token of viewers.'],
  ['GLEANER_HOST, GLEANER_PORT', 'For `gleaner start`: the address of the server.'],
  ['GLEANER_TRUST_CONFIG', 'Set it to 1 for --trust-config, for example in containers.'],
  ['GLEANER_DEBUG', 'Set it to print the stack of an error.'],
  ['NO_COLOR', 'Set it to switch off colours.'],
] as const

export const EXITS = [
  ['0', 'Success.'],
  ['1', 'Failure. The error is on stderr.'],
  ['2', 'Wrong usage.'],
] as const

type Style = Terminal['style']

export function generalHelp(commands: readonly Command[], { style }: Pick<Terminal, 'style'>): string {
  const words = firstWords(commands)
  const width = Math.max(...words.map((word) => word.length)) + 3
  return [
    `${style('bold', 'gleaner')}: durable background work, on SQLite or PostgreSQL`,
    '',
    style('bold', 'SYNOPSIS'),
    `${INDENT}gleaner <command> [options]`,
    '',
    style('bold', 'COMMANDS'),
    ...words.map((word) => `${INDENT}${style('cyan', word.padEnd(width))}${summaryOf(commands, word)}`),
    '',
    style('bold', 'OPTIONS'),
    `${INDENT}${'--help'.padEnd(width)}Show this help. After a command: the help of the command.`,
    `${INDENT}${'--version'.padEnd(width)}Print the version.`,
    '',
    ...section('ENVIRONMENT', table(ENVIRONMENT), style),
    ...section('EXIT STATUS', table(EXITS), style),
    `Begin with ${style('cyan', 'gleaner init')}. See docs/guide/cli.md for more.`,
  ].join('\n')
}

/** Of a group: what can be done. */
function summaryOf(commands: readonly Command[], word: string): string {
  const verbs = verbsOf(commands, word)
  return verbs.length > 0 ? verbs.join(', ') : commands.find(({ name }) => name === word)!.summary
}

export function groupHelp(
  commands: readonly Command[],
  group: string,
  { style }: Pick<Terminal, 'style'>,
): string {
  const members = commands.filter(({ name }) => name.startsWith(`${group} `))
  const width = Math.max(...members.map(({ name }) => name.length)) + 3
  return [
    ...section('SYNOPSIS', [`gleaner ${group} <command> [options]`], style),
    ...section(
      'COMMANDS',
      members.map(({ name, summary }) => `${style('cyan', name.padEnd(width))}${summary}`),
      style,
    ),
    `Without a command it lists. For one command, run gleaner ${group} <command> --help.`,
  ].join('\n')
}

export function commandHelp(command: Command, { style }: Pick<Terminal, 'style'>): string {
  const { name, summary, operands, about, options, examples } = command
  const flags = Object.entries({ ...options, help: HELP_OPTION }).map(
    ([long, option]) => [flagOf(long, option), aboutOf(option)] as const,
  )
  return [
    ...section(
      'NAME',
      wrapped(`gleaner ${name}: ${summary[0]!.toLowerCase()}${summary.slice(1).replace(/\.$/, '')}`),
      style,
    ),
    ...section('SYNOPSIS', [synopsisOf(command)], style),
    ...section(
      'DESCRIPTION',
      about.split('\n\n').flatMap((part, i) => [...(i > 0 ? [''] : []), ...wrapped(part)]),
      style,
    ),
    ...(operands.length === 0
      ? []
      : section('OPERANDS', table(operands.map((one) => [operandWord(one), aboutOf(one)] as const)), style)),
    ...section('OPTIONS', table(flags), style),
    ...section('ENVIRONMENT', table(ENVIRONMENT), style),
    ...section('EXIT STATUS', table([...EXITS, ...(command.exits ?? [])]), style),
    ...section(
      'EXAMPLES',
      examples.flatMap(([line, what]) => [line, ...wrapped(what, WIDTH - 8).map((one) => INDENT + one)]),
      style,
    ),
  ]
    .join('\n')
    .trimEnd()
}

export function synopsisOf({ name, operands }: Command): string {
  return ['gleaner', name, ...operands.map(operandWord), '[options]'].join(' ')
}

export function flagOf(long: string, { short, value }: Option): string {
  return `${short === undefined ? '' : `-${short}, `}--${long}${value === undefined ? '' : ` <${value}>`}`
}

export function aboutOf({ about, choices }: { about: string; choices?: readonly string[] }): string {
  return choices === undefined ? about : `${about} One of: ${choices.join(', ')}.`
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return [style('bold', title), ...lines.map((line) => (line === '' ? '' : INDENT + line)), '']
}

/** The word on a line of its own where it is long, as in a manual. */
function table(rows: readonly (readonly [string, string])[]): string[] {
  const column = 18
  return rows.flatMap(([word, about]) => {
    const lines = wrapped(about, WIDTH - INDENT.length - column)
    if (word.length < column - 1) return lines.map((line, i) => (i === 0 ? word : '').padEnd(column) + line)
    return [word, ...lines.map((line) => ' '.repeat(column) + line)]
  })
}

function wrapped(text: string, width = WIDTH - INDENT.length): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
