import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'oxc-parser'

/** Which modules import which, without those that are imported for their types alone. */
export class Graph {
  readonly #importers = new Map<string, string[]>()

  constructor(root: string, patterns: readonly string[]) {
    for (const name of globSync([...patterns], { cwd: root })) {
      const path = join(root, name)
      for (const imported of importsOf(path)) {
        this.#importers.set(imported, [...(this.#importers.get(imported) ?? []), path])
      }
    }
  }

  /** The module, and all that depend on it. */
  dependents(module: string): string[] {
    const found = new Set([module])
    for (const one of found) for (const importer of this.#importers.get(one) ?? []) found.add(importer)
    return [...found]
  }
}

function importsOf(path: string): string[] {
  const { module } = parseSync(path, readFileSync(path, 'utf8'))
  const statics = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value)
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) =>
      moduleRequest === null || isType ? [] : [moduleRequest.value],
    ),
  )
  return [...statics, ...exports]
    .filter((name) => name.startsWith('.'))
    .map((name) => join(dirname(path), name))
}
