import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { contents, DECISIONS, type FilledSection } from '../../tools/docs/contents.ts'
import { llmsFull, llmsIndex } from '../../tools/docs/llms.ts'
import { slug } from '../../tools/docs/slug.ts'
import { sourceAddress } from '../../tools/docs/sources.ts'

const sections = contents().filter(({ title }) => title !== DECISIONS)
const decisions = contents().filter(({ title }) => title === DECISIONS || title === 'Understand')
const nav = ['Start', 'Guides', 'Deploy', 'Coming from', 'Compare', 'Reference', 'Understand'].map((text) => {
  const pages = contents()
    .filter(({ title }) => title.startsWith(text) || (text === 'Understand' && title === DECISIONS))
    .flatMap(({ entries }) => entries.map(({ page }) => page))
  // Not by folder: some pages of `guide/` belong to other parts.
  const paths = pages.map((page) => page.replace(/(?:index)?\.md$/, ''))
  return { text, link: `/${pages[0]}`, activeMatch: `^/(?:${paths.join('|')})(?:index)?(?:\\.html)?$` }
})

const base = process.env.GLEANER_DOCS_BASE ?? '/'
/** Where the site has a page, for programs that read llms.txt. */
const addressOf = (path: string) =>
  /^docs\/.*\.md$/.test(path) ? path.replace('docs/', base).replace(/\.md$/, '.html') : undefined

export default defineConfig({
  title: 'Gleaner',
  description:
    'Durable background work for Node.js: a task queue, discovery and supervised workers, on SQLite or PostgreSQL.',
  lang: 'en',
  // A site below a path of its host: GLEANER_DOCS_BASE=/gleaner/ npm run docs
  base,
  srcExclude: ['status.md', 'releasing.md', 'node_modules/**'],
  cacheDir: './node_modules/.cache/vitepress',
  // A page is small: a phone need not load twenty others before it is asked for one.
  router: { prefetchLinks: false },
  // The links of the site's own pages; `npm test` also checks titles, pictures and files of the repository.
  ignoreDeadLinks: false,
  markdown: {
    // Comments in code are read, too: the usual themes show them too pale.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // `POST /tasks/{id}` is a title, and no attribute.
    attrs: { disable: true },
    anchor: { slugify: slug },
    config: (md) => {
      md.core.ruler.push('sources', ({ env, tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === 'link_open' ? token.attrGet('href') : null
          const address = target === null ? undefined : sourceAddress(env.relativePath, target)
          if (address !== undefined) token.attrSet('href', address)
        }
      })
    },
  },
  buildEnd({ outDir }) {
    writeFileSync(join(outDir, 'llms.txt'), llmsIndex(addressOf))
    writeFileSync(join(outDir, 'llms-full.txt'), llmsFull(addressOf))
  },
  themeConfig: {
    nav,
    sidebar: {
      '/decisions/': decisions.map(sidebarOf),
      '/': sections.map(sidebarOf),
    },
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: true } },
  },
})

function sidebarOf({ title, entries }: FilledSection) {
  return { text: title, items: entries.map((entry) => ({ text: entry.title, link: `/${entry.page}` })) }
}
