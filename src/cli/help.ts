import type { Command, Option } from './command.ts'
import type { Terminal } from './terminal.ts'

const WIDTH = 80
const INDENT = '    '

const ENVIRONMENT = [
  ['GLEANER_DATABASE', 'The database, instead of the one in the config.'],
  ['GLEANER_HOST, GLEANER_PORT', 'Where the server listens.'],
  ['GLEANER_TOKEN, GLEANER_VIEWER_TOKEN', 'Who may use it: operators, and those who only look.'],
  ['NO_COLOR', 'No colours, also on a terminal.'],
] as const

const EXITS = [
  ['0', 'Success.'],
  ['1', 'Failure; what went wrong is on stderr.'],
  ['2', 'Wrong usage.'],
] as const

export function generalHelp(commands: readonly Command[], { style }: Terminal): string {
  const width = Math.max(...commands.map(({ name }) => name.length)) + 3
  return [
    `${style('bold', 'gleaner')}: durable background work, on SQLite or PostgreSQL`,
    '',
    style('bold', 'USAGE'),
    `${INDENT}gleaner <command> [options]`,
    '',
    style('bold', 'COMMANDS'),
    ...commands.map(({ name, summary }) => `${INDENT}${style('cyan', name.padEnd(width))}${summary}`),
    '',
    style('bold', 'OPTIONS'),
    `${INDENT}${'--help'.padEnd(width + 1)}This, or with a command: all about it.`,
    `${INDENT}${'--version'.padEnd(width + 1)}The version.`,
    '',
    ...section('ENVIRONMENT', table(ENVIRONMENT), style),
    ...section('EXIT STATUS', table(EXITS), style),
    `Begin with ${style('cyan', 'gleaner init')}; docs/guide/cli.md tells more.`,
  ].join('\n')
}

export function commandHelp(command: Command, { style }: Terminal): string {
  const { name, summary, operands, about, options, examples } = command
  const flags = Object.entries({ ...options, help: HELP_OPTION }).map(
    ([long, option]) => [flagOf(long, option), option.about] as const,
  )
  return [
    ...section(
      'NAME',
      [`gleaner ${name}: ${summary[0]!.toLowerCase()}${summary.slice(1).replace(/\.$/, '')}`],
      style,
    ),
    ...section('USAGE', [`gleaner ${name} ${operands === '' ? '' : `${operands} `}[options]`], style),
    ...section(
      'DESCRIPTION',
      about.split('\n\n').flatMap((part, i) => [...(i > 0 ? [''] : []), ...wrapped(part)]),
      style,
    ),
    ...section('OPTIONS', table(flags), style),
    ...section('ENVIRONMENT', table(ENVIRONMENT), style),
    ...section('EXIT STATUS', table([...EXITS, ...(command.exits ?? [])]), style),
    ...section(
      'EXAMPLES',
      examples.flatMap(([line, what]) => [line, `${INDENT}${what}`]),
      style,
    ),
  ]
    .join('\n')
    .trimEnd()
}

export const HELP_OPTION: Option = { type: 'boolean', short: 'h', about: 'This.' }

function flagOf(long: string, { short, value }: Option): string {
  return `${short === undefined ? '' : `-${short}, `}--${long}${value === undefined ? '' : ` <${value}>`}`
}

function section(title: string, lines: readonly string[], style: Terminal['style']): string[] {
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
