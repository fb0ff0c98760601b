import type { ResolvedImport, SourceFile } from './tree.ts'

/** One import on the way from a file to another. */
export interface Step {
  file: SourceFile
  found: ResolvedImport
}

type Files = ReadonlyMap<string, SourceFile>

/** The shortest chain of imports, types included, from one file to another. */
export function findPath(files: Files, from: string, to: string): Step[] | undefined {
  const seen = new Set([from])
  const chains: Step[][] = stepsFrom(files, from).map((step) => [step])
  for (const chain of chains) {
    const reached = chain.at(-1)!.found.target!
    if (reached === to) return chain
    if (seen.has(reached)) continue
    seen.add(reached)
    // Appended while we walk: breadth first, so that the chain found is a shortest one.
    chains.push(...stepsFrom(files, reached).map((step) => [...chain, step]))
  }
  return undefined
}

/**
 * Chains of imports that lead back to where they began, one for each import that closes a circle. Only what exists at run time
 * counts: a type import loads nothing, so it cannot be met half loaded.
 */
export function findCycles(files: Files): Step[][] {
  const cycles: Step[][] = []
  const finished = new Set<string>()
  const walk = (path: string, chain: Step[]) => {
    if (finished.has(path)) return
    const start = chain.findIndex((step) => step.file.path === path)
    if (start >= 0) {
      cycles.push(chain.slice(start))
      return
    }
    for (const step of stepsFrom(files, path)) {
      if (step.found.kind !== 'type') walk(step.found.target!, [...chain, step])
    }
    finished.add(path)
  }
  for (const path of files.keys()) walk(path, [])
  return cycles
}

function stepsFrom(files: Files, path: string): Step[] {
  const file = files.get(path)
  if (!file) return []
  return file.imports
    .filter((found) => found.target !== undefined && files.has(found.target))
    .map((found) => ({ file, found }))
}
