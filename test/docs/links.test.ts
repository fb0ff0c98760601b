import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { contents } from '../../tools/docs/contents.ts'
import { deadLinks } from '../../tools/docs/links.ts'
import { linksOf } from '../../tools/docs/markdown.ts'
import { allPages, root, sitePages, textOf } from '../../tools/docs/pages.ts'

test('every link of every page leads to a page, a title, a picture or a file that exists', () => {
  expect(allPages().length).toBeGreaterThan(60)
  expect(deadLinks()).toEqual([])
})

describe('the check of links finds', () => {
  const deadIn = (text: string) =>
    deadLinks(['docs/guide/planted.md'], (page) => (page === 'docs/guide/planted.md' ? text : textOf(page)))

  test.each([
    ['a page that does not exist', '[gone](gone.md)', 'leads to no file'],
    ['a page above the repository', '[out](../../../gone.md)', 'leads to no file'],
    ['a title that the page itself does not have', '# A title\n\n[gone](#the-title)', 'names a title'],
    ['a title that another page does not have', '[gone](tasks.md#no-such-title)', 'names a title'],
    ['a picture that does not exist', '![alt](../images/gone.svg)', 'leads to no file'],
    ['a picture in HTML', '<img alt="" src="../images/gone.svg">', 'leads to no file'],
    ['a source of a picture in HTML', '<source media="x" srcset="../images/gone.svg">', 'leads to no file'],
    ['a file of the repository that does not exist', '[gone](../../examples/gone.ts)', 'leads to no file'],
    ['a link by reference', 'See [gone].\n\n[gone]: gone.md', 'leads to no file'],
    ['a page of the site that does not exist', '---\nhero:\n  link: /guide/gone\n---', 'leads to no file'],
    ['a link without a target', '[nothing]()', 'is empty'],
  ])('%s', (_name, text, problem) => {
    expect(deadIn(text)).toEqual([expect.stringContaining(problem)])
  })

  test('nothing in links that work', () => {
    const text = [
      '# The `a`, the **b** and [the c](tasks.md)\n\n## Twice\n\n## Twice\n',
      '[self](#the-a-the-b-and-the-c) [second](#twice-1) [page](tasks.md) [site](/guide/tasks)',
      '[web](https://example.com/gone) [folder](../../examples/python) [file](../../LICENSE)',
      '![picture](../images/overview.png) `[code](gone.md)`',
      '```md\n[code](gone.md)\n```',
      '<!-- [comment](gone.md) -->',
    ]
    expect(deadIn(text.join('\n'))).toEqual([])
  })
})

test('internal notes are no part of the site, and neither the README nor a page leads to the status', () => {
  expect(sitePages().filter((page) => /^(?:status|releasing)\.md$/.test(page))).toEqual([])
  const leading = ['README.md', 'CONTRIBUTING.md', 'AGENTS.md', ...sitePages().map((page) => `docs/${page}`)]
    .filter((page) => !page.startsWith('docs/decisions/'))
    .filter((page) => linksOf(textOf(page)).some(({ target }) => /(?:^|\/)status\.md/.test(target)))
  expect(leading).toEqual([])
})

test('every path that CONTRIBUTING names exists', () => {
  const paths = [...textOf('CONTRIBUTING.md').matchAll(/`((?:src|test|tools|docs|bench)\/[\w./-]*)`/g)].map(
    ([, path]) => path!,
  )
  expect(paths.length).toBeGreaterThan(8)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('the table of contents has every page once', () => {
  const listed = contents().flatMap(({ entries }) => entries.map(({ page }) => page))
  expect(listed.sort()).toEqual(sitePages().filter((page) => page !== 'index.md'))
  expect(
    contents()
      .flatMap(({ entries }) => entries)
      .filter(({ title }) => title === ''),
  ).toEqual([])
})

describe('every page ends with a link to the next one', () => {
  const read = ['Start', 'Guides', 'Deploy', 'Coming from', 'Compare']
  const sections = contents().filter(({ title }) => read.some((name) => title.startsWith(name)))

  test.each(
    sections.flatMap(({ title, entries }) =>
      entries.map(({ page }, i) => [page, entries[i + 1]?.page, title] as const),
    ),
  )('%s', (page, next) => {
    const [, end] = textOf(`docs/${page}`).split(/^## Next\n/m)
    const [link] = linksOf(end ?? '')
    expect(link).toBeDefined()
    expect(end).not.toMatch(/^#/m)
    // The last page of a section leads to another one.
    const target = posix.join(posix.dirname(page), link!.target.split('#')[0]!)
    if (next !== undefined) expect(target).toBe(next)
  })
})

test.each([
  ['retry', 'Retry'],
  ['schedule', 'Schedules'],
  ['limit', 'Limits'],
  ['transaction', 'Transactions'],
  ['test', 'Testing'],
  ['run in other languages', 'Workers in other languages'],
  ['see', 'Guides: see what happens'],
  ['operate', 'Guides: operate'],
])('a reader who wants to %s finds "%s" in the sidebar', (_task, name) => {
  const names = contents().flatMap(({ title, entries }) => [title, ...entries.map((entry) => entry.title)])
  expect(names).toContain(name)
})

test('every column of every table has a heading: screen readers name it', () => {
  const bare = allPages().flatMap((page) =>
    [...textOf(page).matchAll(/^(\|.*\|)\n\|[ :|-]+\|$/gm)]
      .filter(([, header]) => /\|\s*\|/.test(header!))
      .map(([, header]) => `${page}: ${header}`),
  )
  expect(bare).toEqual([])
})

describe('the comparison', () => {
  /** Cells that state something and name no source, of every table with a column for each product. */
  const withoutSource = (text: string) =>
    [...text.matchAll(/^(\| feature \|.*)\n\|[ :|-]+\n((?:\|.*\n)+)/gm)].flatMap(([, head, rows]) =>
      [head!, ...rows!.trimEnd().split('\n')].flatMap((row) =>
        cellsOf(row)
          .slice(1)
          .filter((cell) => !cell.includes('](') && !/^(?:no|yours|no queue)$/.test(cell)),
      ),
    )
  const cellsOf = (row: string) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())

  test('names a source in every cell and every head, or says that the documentation in the head has none', () => {
    const text = textOf('docs/compare.md')
    expect(text.match(/^\| feature \|/gm)).toHaveLength(3)
    expect(withoutSource(text)).toEqual([])
  })

  test('is refused with a cell or a head that names none', () => {
    const planted = '| feature | [A](https://a.example) | B |\n| --- | --- | --- |\n| speed | fast | no |\n'
    expect(withoutSource(planted)).toEqual(['B', 'fast'])
  })

  test('gives the figures of the benchmarks, rounded', () => {
    const figures = (path: string) => textOf(path).replaceAll(/(?<=\d)[ ,](?=\d{3})/g, '')
    const measured = [...figures('docs/benchmarks.md').matchAll(/\| ([\d.]+)(?: ms)? (?:\(|\|)/g)].map(
      ([, n]) => Number(n),
    )
    const [, speed] = figures('docs/compare.md').split('## Speed')
    const stated = [...speed!.matchAll(/(?<=\| )([\d.]+)(?: ms| \(batched\))? (?=\|)/g)].map(([, n]) =>
      Number(n),
    )
    expect(stated.length).toBe(28)
    expect(stated.filter((one) => !measured.some((n) => Math.abs(one - n) <= 0.06 * n))).toEqual([])
  })
})
