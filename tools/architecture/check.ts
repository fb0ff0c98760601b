import { RULES, type Violation } from './rules.ts'
import { readTree } from './tree.ts'

/** Every violation of the house rules (DESIGN section 7) in the checkout at `root`. */
export function checkArchitecture(root: string): Violation[] {
  const tree = readTree(root)
  return Object.entries(RULES).flatMap(([rule, check]) =>
    check(tree).map((finding) => ({ rule, ...finding })),
  )
}

export function describeViolation({ file, line, found, rule, expected }: Violation): string {
  return `${file}:${line}  ${found}  [${rule}] ${expected}`
}
