import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { promisify } from 'node:util'
import { root } from './pages.ts'

const run = promisify(execFile)
const DOCS = join(root, 'docs')

/** Installs what the site is built with, if the lock file asks for something else than what is installed, and builds it. */
export async function buildSite(folder: string): Promise<void> {
  if (!isInstalled())
    await run('npm', [
      '--prefix',
      DOCS,
      'ci',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ])
  const vitepress = join(DOCS, 'node_modules/vitepress/bin/vitepress.js')
  await run(process.execPath, [vitepress, 'build', DOCS, '--outDir', folder])
}

function isInstalled(): boolean {
  const installed = join(DOCS, 'node_modules/.package-lock.json')
  if (!existsSync(installed)) return false
  const versions = (file: string) => {
    const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
      packages: Record<string, { version?: string; optional?: boolean }>
    }
    return new Map(Object.entries(packages).map(([path, { version }]) => [path, version]))
  }
  const locked = versions(join(DOCS, 'package-lock.json'))
  const present = versions(installed)
  return present.size > 0 && [...present].every(([path, version]) => locked.get(path) === version)
}

/** The pages of a built site, by their paths in its folder. */
export function builtPages(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.html'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}

/** Every link of a built page that leads to no page, file or title of the site. */
export function deadBuiltLinks(folder: string, pages = builtPages(folder)): string[] {
  const texts = new Map<string, string>()
  const textOf = (page: string) => {
    if (!texts.has(page)) texts.set(page, readFileSync(join(folder, page), 'utf8'))
    return texts.get(page)!
  }
  return pages.flatMap((page) =>
    targetsIn(textOf(page)).flatMap((target) => {
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? page : fileAt(folder, page, path)
      if (file === undefined) return [`${page}: ${target} leads to no file`]
      if (anchor === undefined || anchor === '' || !file.endsWith('.html')) return []
      return hasId(textOf(file), decodeURIComponent(anchor))
        ? []
        : [`${page}: ${target} names no title of ${file}`]
    }),
  )
}

function targetsIn(html: string): string[] {
  const found = [...html.matchAll(/ (?:href|src|srcset)="([^"]*)"/g)].map(([, target]) =>
    target!.replaceAll('&amp;', '&'),
  )
  return [...new Set(found)].filter((target) => target !== '' && !/^(?:[a-z]+:|\/\/)/i.test(target))
}

function fileAt(folder: string, page: string, path: string): string | undefined {
  const named = decodeURIComponent(path)
  const place = named.startsWith('/') ? named.slice(1) : posix.join(posix.dirname(page), named)
  return [place, `${place}.html`, posix.join(place, 'index.html')].find(
    (file) => existsSync(join(folder, file)) && statSync(join(folder, file)).isFile(),
  )
}

function hasId(html: string, id: string): boolean {
  return html.includes(` id="${id}"`)
}
