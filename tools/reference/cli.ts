import type { Command } from '../../src/cli/console/command.ts'
import { aboutOf, ENVIRONMENT, EXITS, flagOf, synopsisOf } from '../../src/cli/console/help.ts'
import { HELP_OPTION, operandWord } from '../../src/cli/console/parse.ts'

/** The page of all commands, from the table that the program itself is made of. */
export function cliReference(commands: readonly Command[]): string {
  return [
    '# Commands',
    '',
    'Every command with its operands and options. `npm run reference` makes this page from the table that the program parses with. `gleaner <command> --help`',
    'shows the same. [The guide](../guide/cli.md) shows common uses. [The runbook](../guide/runbook.md) says which command helps when something is wrong.',
    '',
    '| command | what it does |',
    '| --- | --- |',
    ...commands.map(({ name, summary }) => `| [\`${name}\`](#${anchor(name)}) | ${cell(summary)} |`),
    '',
    '## For all commands',
    '',
    ...table(['exit code', 'meaning'], EXITS),
    '',
    ...table(['variable', 'meaning'], ENVIRONMENT),
    ...commands.flatMap(commandLines),
    '',
  ].join('\n')
}

function commandLines(command: Command): string[] {
  const { name, about, operands, options, exits = [], examples } = command
  const flags = Object.entries({ ...options, help: HELP_OPTION }).map(
    ([long, option]) => [flagOf(long, option), aboutOf(option)] as const,
  )
  return [
    '',
    `## gleaner ${name}`,
    '',
    '```text',
    synopsisOf(command),
    '```',
    '',
    about,
    '',
    ...(operands.length === 0
      ? []
      : [
          ...table(
            ['operand', 'meaning'],
            operands.map((one) => [operandWord(one), aboutOf(one)] as const),
          ),
          '',
        ]),
    ...table(['option', 'meaning'], flags),
    '',
    ...(exits.length === 0 ? [] : [...table(['exit code', 'meaning'], exits), '']),
    '```sh',
    ...examples.flatMap(([line, what]) => [`# ${what}`, line]),
    '```',
  ]
}

function table(
  [first, second]: readonly [string, string],
  rows: readonly (readonly [string, string])[],
): string[] {
  return [
    `| ${first} | ${second} |`,
    '| --- | --- |',
    ...rows.map(([word, about]) => `| \`${cell(word)}\` | ${cell(about)} |`),
  ]
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

function anchor(name: string): string {
  return `gleaner-${name.replaceAll(' ', '-')}`
}
