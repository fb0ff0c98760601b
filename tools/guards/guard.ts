import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Place, placesOf, withNamesOf } from './locate.ts'

/** A line of code that keeps a promise, the patch that takes it out, and the test that must fail without it. */
export interface Guard {
  name: string
  /** What users lose without it, in one sentence. */
  promise: string
  /** Where it was when the guard was written. Should the file be elsewhere, it is looked for in all of `src`. */
  file: string
  /** Is there once, whatever its variables and functions are called: see `placesOf`. */
  find: string
  replace: string
  /** `title` is the test's own, or preceded by those of its groups: `'a group > a test'`. */
  test: { file: string; title: string }
}

interface Found {
  path: string
  code: string
  places: Place[]
}

function find(root: string, { file, find }: Guard): Found[] {
  const look = (name: string): Found => {
    const path = join(root, name)
    const code = readFileSync(path, 'utf8')
    return { path, code, places: placesOf(path, code, find) }
  }
  if (existsSync(join(root, file))) {
    const here = look(file)
    if (here.places.length > 0) return [here]
  }
  const others = globSync('src/**/*.ts', { cwd: root }).map(look)
  return others.filter(({ places }) => places.length > 0)
}

/** Why the patch can no longer be applied: code moves on, and a list that is not watched rots. */
export function rotOf(root: string, guard: Guard): string | undefined {
  if (guard.find === guard.replace) return `the patch of ${guard.file} changes nothing`
  const found = find(root, guard)
  const count = found.flatMap(({ places }) => places).length
  if (count === 1) return undefined
  const where = found.length === 1 ? found[0]!.path.slice(root.length + 1) : guard.file
  return `the text to find occurs ${count} times in ${where}, not once`
}

/** Takes the guard out; the answer puts it back. */
export function removeGuard(root: string, guard: Guard): () => void {
  const [{ path, code, places }] = find(root, guard) as [Found]
  const [place] = places as [Place]
  writeFileSync(path, code.slice(0, place.start) + withNamesOf(place, guard.replace) + code.slice(place.end))
  return () => writeFileSync(path, code)
}

/** `name` is a test's full name, groups included, joined by ` > `. */
export function isNamed(name: string, title: string): boolean {
  return name === title || name.endsWith(` > ${title}`)
}
