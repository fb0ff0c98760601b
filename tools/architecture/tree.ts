import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Import, knownStart, readSource, type Source } from './source.ts'

/** `target` is a path inside the checkout; undefined for a package or a built-in module. */
export interface ResolvedImport extends Import {
  target: string | undefined
}

/** `path` is relative to the checkout and written with slashes. */
export interface SourceFile extends Omit<Source, 'imports'> {
  path: string
  imports: ResolvedImport[]
}

export interface Tree {
  /** The code that rules of import hold for: `src/` and `web/`. */
  files: Map<string, SourceFile>
  /** Every file of ours, wherever it lies. */
  paths: string[]
  /** How often the code still breaks a rule. */
  budgets: Record<string, number>
}

const FOLDERS = ['src', 'web', 'test', 'examples', 'bench', 'tools']
const READ = /^(src|web)\/.*\.(ts|tsx|mts|js|jsx|mjs)$/
const SKIPPED = new Set(['node_modules', 'dist'])

export function readTree(root: string): Tree {
  const paths = FOLDERS.flatMap((folder) => pathsUnder(root, folder)).sort()
  const known = new Set(paths)
  const files = new Map<string, SourceFile>()
  for (const path of paths.filter((candidate) => READ.test(candidate))) {
    const source = readSource(path, readFileSync(join(root, path), 'utf8'))
    const imports = source.imports.map((found) => ({ ...found, target: resolve(path, found, known) }))
    files.set(path, { ...source, path, imports })
  }
  const kept = join(root, 'tools/architecture/budgets.json')
  return { files, paths, budgets: existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {} }
}

function pathsUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : pathsUnder(root, path)
    return [path]
  })
}

function resolve(from: string, { specifier, kind }: Import, known: Set<string>): string | undefined {
  // The package by its own name would be a way around every rule: it is the public door.
  if (specifier === 'gleaner') return 'src/index.ts'
  if (specifier.startsWith('gleaner/')) return `src/${specifier.slice('gleaner/'.length)}/index.ts`
  const isRelative = specifier.startsWith('./') || specifier.startsWith('../')
  if (!isRelative && (kind !== 'path' || specifier.includes(':'))) return undefined

  const target = posix.join(posix.dirname(from), knownStart(specifier))
  // The extension may be chosen at run time, or be the one of the build.
  const candidates = [target, `${target}.ts`, `${target}ts`, target.replace(/\.js$/, '.ts')]
  return candidates.find((candidate) => known.has(candidate)) ?? target
}
