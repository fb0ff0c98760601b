import { basename } from 'node:path'
import { slug } from '../docs/slug.ts'
import type { Door, Entry, Mention } from '../public-api/entries.ts'

const INTROS: Readonly<Record<string, string>> = {
  gleaner: 'What you import from `gleaner`: definitions, the engine and its verbs, records and errors.',
  'gleaner/testing':
    'What you import from `gleaner/testing`. [Testing](../guide/testing.md) shows how to use it.',
  'gleaner/http':
    'What you import from `gleaner/http`: the server, and the types of its requests and responses. [HTTP](../guide/http.md) shows how to use it.',
  'gleaner/health':
    'What you import from `gleaner/health`. [Health of your own components](../guide/health.md) shows how to use it.',
  'gleaner/supervisor':
    'What you import from `gleaner/supervisor`. [Worker processes](../guide/processes.md#own-the-workers-from-code) shows how to use it.',
  'gleaner/telemetry':
    'What you import from `gleaner/telemetry`. [OpenTelemetry](../guide/telemetry.md) shows how to use it.',
}

/** The page of one door, from the types and doc comments of the code. */
export function typescriptReference({ door, entries, mentioned }: Door): string {
  return [
    `# TypeScript: ${door}`,
    '',
    `${INTROS[door]} \`npm run reference\` makes this page from the types and comments of the code. An editor shows the same.`,
    ...sectionsOf(entries).flatMap(([title, members]) => section(title, members)),
    ...(mentioned.length === 0
      ? []
      : [
          '',
          '## Types without a name to import',
          '',
          'The types above mention these. You cannot import them by name.',
          ...mentioned.flatMap(entryLines),
        ]),
    '',
  ].join('\n')
}

export function pageOf(door: string): string {
  return `docs/reference/typescript${door.replace('gleaner', '').replace('/', '-')}.md`
}

function sectionsOf(entries: readonly Entry[]): [string, Entry[]][] {
  const isGiven = ({ name }: Entry) => /(?:Options|Settings|Timings|Hooks)$/.test(name)
  const hasVerbs = ({ members }: Entry) => members.some(({ type }) => /^(?:<[^(]*>)?\(.*\): /.test(type))
  const sections = Object.groupBy(entries, (entry) => {
    if (entry.kind === 'function') return 'Functions'
    if (entry.kind === 'class') return 'Errors'
    if (isGiven(entry)) return 'Options'
    return hasVerbs(entry) ? 'Objects' : 'Types'
  })
  return (['Functions', 'Objects', 'Options', 'Types', 'Errors'] as const).flatMap((title) =>
    sections[title] === undefined ? [] : [[title, sections[title]]],
  )
}

function section(title: string, entries: readonly Entry[]): string[] {
  const sorted = entries.toSorted((a, b) => a.name.localeCompare(b.name))
  return ['', `## ${title}`, ...sorted.flatMap(entryLines)]
}

function entryLines(entry: Entry): string[] {
  const { name, about, code, members, mentions } = entry
  const links = mentions.map(linkTo)
  return [
    '',
    `### ${name}`,
    ...(about === '' ? [] : ['', about]),
    ...(members.length === 0 && !isBare(entry) ? ['', '```ts', code, '```'] : memberLines(entry)),
    ...(links.length === 0 ? [] : ['', `See ${links.join(', ')}.`]),
  ]
}

function linkTo({ name, door }: Mention): string {
  return `[${name}](${door === undefined ? '' : basename(pageOf(door))}#${slug(name)})`
}

/** An error without members of its own: its name says it all. */
function isBare({ kind }: Entry): boolean {
  return kind === 'class'
}

function memberLines({ code, members }: Entry): string[] {
  const base = /\bextends (?<base>[^{]+?) \{/.exec(code)?.groups?.base?.replaceAll(/\s+/g, ' ')
  return [
    ...(base === undefined ? [] : ['', `Extends \`${base}\`.`]),
    ...(members.length === 0
      ? []
      : [
          '',
          '| member | type | meaning |',
          '| --- | --- | --- |',
          ...members.map(({ name, type, about }) => `| \`${name}\` | \`${cell(type)}\` | ${cell(about)} |`),
        ]),
  ]
}

function cell(text: string): string {
  return text.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll(/\s*\n\s*/g, ' ')
}
