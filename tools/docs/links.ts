import { existsSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { anchorsOf, linksOf } from './markdown.ts'
import { allPages, root, textOf } from './pages.ts'

/** Every link that leads nowhere: to a page, a title of a page, a picture or a file of the repository. */
export function deadLinks(pages = allPages(), read = textOf): string[] {
  const anchors = new Map<string, Set<string>>()
  const anchorsIn = (page: string) => {
    if (!anchors.has(page)) anchors.set(page, anchorsOf(read(page)))
    return anchors.get(page)!
  }
  return pages.flatMap((page) =>
    linksOf(read(page)).flatMap(({ line, target }) => {
      if (/^[a-z]+:/i.test(target)) return []
      const wrong = problemOf(page, target, anchorsIn)
      return wrong === undefined ? [] : [`${page}:${line}  ${target}  ${wrong}`]
    }),
  )
}

function problemOf(
  page: string,
  target: string,
  anchorsIn: (page: string) => Set<string>,
): string | undefined {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : fileBehind(page, path)
  if (file === undefined) return 'leads to no file'
  if (anchor === undefined) return path === '' ? 'is empty' : undefined
  if (!file.endsWith('.md')) return 'names a title in what is not a page'
  return anchorsIn(file).has(anchor) ? undefined : `names a title that ${file} does not have`
}

/** The file of the repository that a page names. On the site, `/x` is `docs/x` or what `docs/public` has. */
function fileBehind(page: string, path: string): string | undefined {
  const named = decodeURIComponent(path).replace(/(?<=.)\/$/, '')
  const places = named.startsWith('/')
    ? [`docs${named}`, `docs/public${named}`]
    : [posix.join(posix.dirname(page), named)]
  return places
    .filter((place) => !place.startsWith('..'))
    .flatMap((place) => [`${place}/index.md`, place, `${place}.md`])
    .find((file) => existsSync(join(root, file)) && !isBareFolder(file))
}

/** The site has no page for a folder of pages that has no index. */
function isBareFolder(file: string): boolean {
  return /^docs(?:\/|$)/.test(file) && statSync(join(root, file)).isDirectory()
}
