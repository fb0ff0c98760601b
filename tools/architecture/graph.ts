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

/** Files that import each other in a circle, types included: one group for each knot. */
export function findKnots(files: Files): string[][] {
  const reach = new Map<string, Set<string>>()
  const reachedFrom = (path: string): Set<string> => {
    const seen = new Set<string>()
    const next = [path]
    for (const at of next) {
      for (const { found } of stepsFrom(files, at)) {
        // A thread is started by its path and shares nothing with the file that starts it.
        if (found.kind === 'path' || seen.has(found.target!)) continue
        seen.add(found.target!)
        next.push(found.target!)
      }
    }
    return seen
  }
  for (const path of files.keys()) reach.set(path, reachedFrom(path))
  const knots: string[][] = []
  const tied = new Set<string>()
  for (const [path, reached] of reach) {
    if (tied.has(path) || !reached.has(path)) continue
    const knot = [...reached].filter((other) => reach.get(other)!.has(path)).sort()
    for (const one of knot) tied.add(one)
    knots.push(knot)
  }
  return knots
}

function stepsFrom(files: Files, path: string): Step[] {
  const file = files.get(path)
  if (!file) return []
  return file.imports
    .filter((found) => found.target !== undefined && files.has(found.target))
    .map((found) => ({ file, found }))
}
