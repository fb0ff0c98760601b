import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A line of code that keeps a promise, the patch that takes it out, and the test that must fail without it. */
export interface Guard {
  name: string
  /** What users lose without it, in one sentence. */
  promise: string
  file: string
  /** Occurs exactly once in `file`. */
  find: string
  replace: string
  /** `title` is the test's own, or preceded by those of its groups: `'a group > a test'`. */
  test: { file: string; title: string }
}

/** Why the patch can no longer be applied: code moves on, and a list that is not watched rots. */
export function rotOf(root: string, { file, find, replace }: Guard): string | undefined {
  if (find === replace) return `the patch of ${file} changes nothing`
  const count = readFileSync(join(root, file), 'utf8').split(find).length - 1
  return count === 1 ? undefined : `the text to find occurs ${count} times in ${file}, not once`
}

/** Takes the guard out; the answer puts it back. */
export function removeGuard(root: string, { file, find, replace }: Guard): () => void {
  const path = join(root, file)
  const whole = readFileSync(path, 'utf8')
  // A function, because a text may hold `$&`, which means something to `replace`.
  writeFileSync(
    path,
    whole.replace(find, () => replace),
  )
  return () => writeFileSync(path, whole)
}

/** `name` is a test's full name, groups included, joined by ` > `. */
export function isNamed(name: string, title: string): boolean {
  return name === title || name.endsWith(` > ${title}`)
}
