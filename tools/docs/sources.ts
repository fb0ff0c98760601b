import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, posix } from 'node:path'
import { linksOf } from './markdown.ts'
import { root, sitePages, textOf } from './pages.ts'

/** A file or folder of the repository that pages link to: the site shows it on a page of its own. */
interface Source {
  /** The last part of its address. */
  name: string
  content: string
}

const LANGUAGES: Readonly<Record<string, string>> = {
  '.py': 'python',
  '.sh': 'sh',
  '.yml': 'yaml',
  '.service': 'ini',
  '.timer': 'ini',
  '.cjs': 'js',
  '.mjs': 'js',
  '.mts': 'ts',
}

/** Where the site has what a page links to, if that is no page of the site; undefined if it is one. */
export function sourceAddress(page: string, target: string): string | undefined {
  const path = repositoryPath(`docs/${page}`, target)
  if (path === undefined || isOnSite(path)) return undefined
  return `/source/${nameOf(path)}${anchorOf(target)}`
}

/** Every source that a page links to, or that such a source links to. */
export function sources(): Source[] {
  const found = new Map<string, Source>()
  const open = sitePages().flatMap((page) => linkedFrom(`docs/${page}`))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue
    found.set(path, { name: nameOf(path), content: contentOf(path) })
    if (path.endsWith('.md')) open.push(...linkedFrom(path))
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

function linkedFrom(page: string): string[] {
  return linksOf(textOf(page)).flatMap(({ target }) => {
    const path = repositoryPath(page, target)
    return path === undefined || isOnSite(path) ? [] : [path]
  })
}

/** The path in the repository that a relative link means. */
function repositoryPath(page: string, target: string): string | undefined {
  const [path = ''] = target.split('#')
  if (path === '' || path.startsWith('/') || /^[a-z]+:/i.test(path)) return undefined
  return posix.join(posix.dirname(page), decodeURIComponent(path)).replace(/\/$/, '')
}

/** Pages of the site, folders of pages and pictures. */
function isOnSite(path: string): boolean {
  return (
    path.startsWith('docs/') && (sitePages().includes(path.slice('docs/'.length)) || !path.endsWith('.md'))
  )
}

function siteAddress(path: string): string {
  return path.replace(/^docs/, '') + (extname(path) === '' ? '/' : '')
}

function anchorOf(target: string): string {
  return target.includes('#') ? target.slice(target.indexOf('#')) : ''
}

function nameOf(path: string): string {
  return path
    .replace(/\.md$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
}

function contentOf(path: string): string {
  if (path.endsWith('.md')) return withSiteLinks(path, textOf(path))
  const files = statSync(join(root, path)).isDirectory() ? filesIn(path) : [path]
  return [`# ${path}`, ...files.map((file) => shown(file, files.length > 1))].join('\n\n')
}

function shown(file: string, isOneOfMany: boolean): string {
  const extension = extname(file)
  const language = file.endsWith('/Dockerfile')
    ? 'docker'
    : (LANGUAGES[extension] ?? (extension.slice(1) || 'txt'))
  const text = readFileSync(join(root, file), 'utf8').trimEnd()
  return `${isOneOfMany ? `## ${file}\n\n` : ''}\`\`\`\`${language}\n${text}\n\`\`\`\``
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (!entry.isDirectory()) return /\.(?:db|db-\w+|token)$/.test(path) ? [] : [path]
    return entry.name === 'node_modules' ? [] : filesIn(path)
  })
}

/** Its links are relative to its place in the repository; here it stands elsewhere. */
function withSiteLinks(path: string, text: string): string {
  return text.replaceAll(/\]\((?<target>[^)\s]+)\)/g, (whole, target: string) => {
    const file = repositoryPath(path, target)
    if (file === undefined) return whole
    const address = isOnSite(file) ? siteAddress(file) : `/source/${nameOf(file)}`
    return `](${address}${anchorOf(target)})`
  })
}
