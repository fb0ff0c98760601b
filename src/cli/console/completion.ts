// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how shells name their variables
import type { Command, Option } from './command.ts'
import { firstWords, HELP_OPTION, verbsOf } from './parse.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** The command that prints how a shell completes all the others, and itself. */
export function completionOf(others: readonly Command[]): Command {
  const command: Command = {
    name: 'completion',
    summary: 'Print shell completions.',
    operands: [{ name: 'shell', about: 'The shell.', choices: SHELLS }],
    about:
      'Prints a script that completes the commands of this version, their verbs, their options and their values.',
    options: {},
    examples: [
      ['source <(gleaner completion bash)', 'Write this into ~/.bashrc.'],
      ['gleaner completion zsh > "${fpath[1]}/_gleaner"', 'Run this once, for zsh.'],
      ['gleaner completion fish > ~/.config/fish/completions/gleaner.fish', 'Run this once, for fish.'],
    ],
    async run([shell], _values, { print }) {
      for (const line of SCRIPTS[shell as Shell]([...others, command])) print(line)
      return 0
    },
  }
  return command
}

const SCRIPTS: Record<Shell, (commands: readonly Command[]) => string[]> = { bash, zsh, fish }

function groupsOf(commands: readonly Command[]): string[] {
  return firstWords(commands).filter((word) => verbsOf(commands, word).length > 0)
}

function optionsOf({ options }: Command): [long: string, option: Option][] {
  return Object.entries({ ...options, help: HELP_OPTION })
}

const valueOptions = (command: Command) => optionsOf(command).filter(([, { type }]) => type === 'string')

function bash(commands: readonly Command[]): string[] {
  const words = [...firstWords(commands), 'help', '--help', '--version'].join(' ')
  const groups = groupsOf(commands)
  return [
    '# bash completion for gleaner',
    '_gleaner() {',
    '  local cur prev cmd i',
    '  COMPREPLY=()',
    '  cur="${COMP_WORDS[COMP_CWORD]}"',
    '  prev="${COMP_WORDS[COMP_CWORD-1]}"',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${words}" -- "$cur"))`,
    '    return',
    '  fi',
    '  cmd="${COMP_WORDS[1]}"',
    '  case "$cmd" in',
    ...groups.flatMap((group) => [
      `    ${group})`,
      '      if [ "$COMP_CWORD" -eq 2 ] && [[ "$cur" != -* ]]; then',
      `        COMPREPLY=($(compgen -W "${verbsOf(commands, group).join(' ')}" -- "$cur"))`,
      '        return',
      '      fi',
      '      case "${COMP_WORDS[2]}" in',
      '        -*) cmd="$cmd list" ;;',
      '        *) cmd="$cmd ${COMP_WORDS[2]}" ;;',
      '      esac ;;',
    ]),
    '  esac',
    '  case "$cmd $prev" in',
    ...commands.flatMap(bashValues),
    '  esac',
    '  case "$cmd" in',
    ...commands.map((command) => {
      const flags = optionsOf(command).map(([long]) => `--${long}`)
      const choices = command.operands.flatMap((operand) => operand.choices ?? [])
      return `    "${command.name}") COMPREPLY=($(compgen -W "${[...choices, ...flags].join(' ')}" -- "$cur")) ;;`
    }),
    '  esac',
    '  if [ ${#COMPREPLY[@]} -eq 0 ] && [[ "$cur" != -* ]]; then',
    '    case "$cmd" in',
    `      ${fileCommands(commands).join('|')}) COMPREPLY=($(compgen -f -- "$cur")) ;;`,
    '    esac',
    '  fi',
    '}',
    'complete -o filenames -F _gleaner gleaner',
  ]
}

/** What stands behind an option of a command. */
function bashValues(command: Command): string[] {
  return valueOptions(command).map(([long, { short, value, choices }]) => {
    const names = [`--${long}`, ...(short === undefined ? [] : [`-${short}`])]
    const pattern = names.map((name) => `"${command.name} ${name}"`).join('|')
    const reply =
      choices !== undefined
        ? `COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$cur"))`
        : value === 'file'
          ? 'COMPREPLY=($(compgen -f -- "$cur"))'
          : ':'
    return `    ${pattern}) ${reply}; return ;;`
  })
}

function fileCommands(commands: readonly Command[]): string[] {
  return commands
    .filter(({ operands }) => operands.some(({ name }) => name === 'file' || name === 'folder'))
    .map(({ name }) => name)
}

function zsh(commands: readonly Command[]): string[] {
  return [
    '#compdef gleaner',
    '# zsh completion for gleaner',
    '_gleaner() {',
    '  local -a words_of',
    '  if (( CURRENT == 2 )); then',
    '    words_of=(',
    ...firstWords(commands).map((word) => {
      const summary =
        commands.find(({ name }) => name === word)?.summary ?? verbsOf(commands, word).join(', ')
      return `      ${quoted(`${word}:${summary}`)}`
    }),
    '    )',
    "    _describe 'command' words_of",
    '    return',
    '  fi',
    '  local cmd="$words[2]"',
    '  case "$cmd" in',
    ...groupsOf(commands).flatMap((group) => zshGroup(commands, group)),
    '  esac',
    '  words=("${(@)words[2,-1]}")',
    '  (( CURRENT-- ))',
    '  case "$cmd" in',
    ...commands.flatMap((command) => [
      `    '${command.name}') _arguments \\`,
      ...optionsOf(command).map(([long, option]) => `      ${quoted(zshOption(long, option))} \\`),
      `      ${quoted(zshOperand(command))} ;;`,
    ]),
    '  esac',
    '}',
    'if [ "$funcstack[1]" = "_gleaner" ]; then',
    '  _gleaner "$@"',
    'else',
    '  compdef _gleaner gleaner',
    'fi',
  ]
}

/** The verbs of a group of commands. */
function zshGroup(commands: readonly Command[], group: string): string[] {
  return [
    `    ${group})`,
    '      if (( CURRENT == 3 )) && [[ "$words[3]" != -* ]]; then',
    '        words_of=(',
    ...commands
      .filter(({ name }) => name.startsWith(`${group} `))
      .map(({ name, summary }) => `          ${quoted(`${name.slice(group.length + 1)}:${summary}`)}`),
    '        )',
    `        _describe '${group}' words_of`,
    '        return',
    '      fi',
    '      if [[ "$words[3]" == -* ]]; then',
    '        cmd="$cmd list"',
    '      else',
    '        cmd="$cmd $words[3]"',
    '        words=("$words[1]" "${(@)words[3,-1]}")',
    '        (( CURRENT-- ))',
    '      fi ;;',
  ]
}

function zshOption(long: string, { value, choices, about }: Option): string {
  const what = `--${long}[${about.replaceAll(/[[\]:]/g, ' ')}]`
  if (value === undefined) return what
  const action = choices !== undefined ? `(${choices.join(' ')})` : value === 'file' ? '_files' : ' '
  return `${what}:${value}:${action}`
}

function zshOperand({ operands }: Command): string {
  const choices = operands.flatMap((operand) => operand.choices ?? [])
  if (choices.length > 0) return `*:value:(${choices.join(' ')})`
  return operands.some(({ name }) => name === 'file' || name === 'folder') ? '*:file:_files' : '*: : '
}

function fish(commands: readonly Command[]): string[] {
  const words = firstWords(commands)
  const first = words.map((word) => {
    const summary = commands.find(({ name }) => name === word)?.summary ?? verbsOf(commands, word).join(', ')
    return `complete -c gleaner -n __fish_use_subcommand -a ${word} -d ${quoted(summary)}`
  })
  const rest = commands.flatMap((command) => {
    const [group, verb] = command.name.split(' ')
    const verbs = verbsOf(commands, group!)
    const offered =
      verb === undefined
        ? []
        : [
            `complete -c gleaner -n ${quoted(`__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${verbs.join(' ')}`)} -a ${verb} -d ${quoted(command.summary)}`,
          ]
    // A group alone is its list.
    const others = verbs.filter((one) => one !== 'list').join(' ')
    const which =
      verb === 'list' && others !== ''
        ? `; and not __fish_seen_subcommand_from ${others}`
        : verb === undefined || verb === 'list'
          ? ''
          : `; and __fish_seen_subcommand_from ${verb}`
    const seen = `__fish_seen_subcommand_from ${group}${which}`
    const files = fileCommands([command]).length > 0 ? [`complete -c gleaner -n ${quoted(seen)} -F`] : []
    const operands = command.operands.flatMap(({ choices }) =>
      choices === undefined ? [] : [`complete -c gleaner -n ${quoted(seen)} -a ${quoted(choices.join(' '))}`],
    )
    return [...offered, ...files, ...operands, ...optionsOf(command).map((one) => fishOption(seen, one))]
  })
  return ['# fish completion for gleaner', 'complete -c gleaner -f', ...first, ...rest]
}

function fishOption(seen: string, [long, { short, value, choices, about }]: [string, Option]): string {
  const names = `-l ${long}${short === undefined ? '' : ` -s ${short}`}`
  const takes =
    value === undefined
      ? ''
      : choices !== undefined
        ? ` -x -a ${quoted(choices.join(' '))}`
        : value === 'file'
          ? ' -r -F'
          : ' -x'
  return `complete -c gleaner -n ${quoted(seen)} ${names}${takes} -d ${quoted(about)}`
}

/** As every shell takes it, but for fish, to which a backslash means something between quotes as well: there is none. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
