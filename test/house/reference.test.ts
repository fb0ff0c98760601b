import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../src/cli/console/command.ts'
import { parse } from '../../src/cli/console/parse.ts'
import { COMMANDS } from '../../src/cli/table.ts'
import { type Entry, publicEntries } from '../../tools/public-api/entries.ts'
import { PAGES } from '../../tools/reference/pages.ts'

const checkout = join(import.meta.dirname, '../..')

test.each(Object.entries(PAGES))('%s is what the code says; if not, `npm run reference`', (path, page) => {
  expect(readFileSync(join(checkout, path), 'utf8')).toBe(page())
})

describe('everything that a user can import says what it is for', () => {
  const doors = publicEntries(checkout)
  const silentIn = ({ name, about, kind, members }: Entry) => [
    ...(about === '' ? [name] : []),
    ...members
      .filter((member) => member.about === '' && !(kind === 'class' && member.name === 'constructor'))
      .map((member) => `${name}.${member.name}`),
  ]

  test.each(doors)('$door', ({ entries }) => {
    expect(entries.length).toBeGreaterThan(1)
    expect(entries.flatMap(silentIn)).toEqual([])
  })

  test('a name or an option without a comment is found', () => {
    const [gleaner] = doors
    const options = gleaner!.entries.find(({ name }) => name === 'EnqueueOptions')!
    const [first, ...others] = options.members
    expect(silentIn({ ...options, about: '', members: [{ ...first!, about: '' }, ...others] })).toEqual([
      'EnqueueOptions',
      'EnqueueOptions.priority?',
    ])
  })

  test('two names of a page never share an address', () => {
    for (const { entries, mentioned } of doors) {
      const addresses = [...entries, ...mentioned].map(({ name }) => name.toLowerCase())
      expect(addresses.filter((one, index) => addresses.indexOf(one) !== index)).toEqual([])
    }
  })
})

describe('commands that are written down can be typed', () => {
  const pages = [
    'README.md',
    ...readdirSync(join(checkout, 'docs/guide')).map((name) => `docs/guide/${name}`),
    ...Object.keys(PAGES),
  ]
  const written = pages.flatMap((page) =>
    commandsIn(readFileSync(join(checkout, page), 'utf8')).map((line) => [page, line] as const),
  )

  test('there are many', () => expect(written.length).toBeGreaterThan(80))

  test.each(written)('%s: %s', (_page, line) => {
    expect(() => parse(COMMANDS, wordsOf(line))).not.toThrow(UsageError)
  })

  test('the examples of the help', () => {
    for (const { examples } of COMMANDS)
      for (const [line] of examples)
        for (const command of commandsIn(`\`\`\`sh\n${line}\n\`\`\``))
          expect(() => parse(COMMANDS, wordsOf(command)), line).not.toThrow()
  })
})

/** In blocks of shell, or behind the `$` of what was typed. */
function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(/^```(sh|text)\n(.*?)^```$/gms)]
  return blocks.flatMap(([, language, code]) =>
    code!.split('\n').flatMap((line) => {
      const typed = language === 'sh' ? line : line.startsWith('$ ') ? line.slice(2) : ''
      return typed.startsWith('#')
        ? []
        : [...typed.matchAll(/(?<!install )\bgleaner (?!completion zsh >)[^|&>#]*/g)].map(([one]) =>
            one.trim(),
          )
    }),
  )
}

/** As a shell splits them; quotes hold together. */
function wordsOf(line: string): string[] {
  const words = line.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? []
  return words.slice(1).map((word) => word.replaceAll(/^['"]|['"]$/g, '').replace(/\)$/, ''))
}
