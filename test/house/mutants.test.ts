import { expect, test } from 'vitest'
import { ACCEPTED } from '../../tools/mutants/accepted.ts'
import { mutantsOf } from '../../tools/mutants/mutate.ts'
import { type Candidate, candidates, nameOf, prove } from '../../tools/mutants/prove.ts'

/** `npm run mutants` tries all of them. */
const SAMPLE = 12

function changed(code: string): string[] {
  return mutantsOf('code.ts', code).map(
    ({ start, end, replacement }) => code.slice(0, start) + replacement + code.slice(end),
  )
}

test('conditions are negated, boundaries moved, constants changed, and returns dropped', () => {
  expect(changed('if (a < 3) b()\nelse c()').sort()).toEqual([
    'if (!(a < 3)) b()\nelse c()',
    'if (a < 3) ;\nelse c()',
    'if (a < 3) b()\nelse ;',
    'if (a < 4) b()\nelse c()',
    'if (a <= 3) b()\nelse c()',
  ])
  expect(changed('const f = () => { return a && !b }').sort()).toEqual([
    'const f = () => { return a && b }',
    'const f = () => { return a || !b }',
    'const f = () => { return undefined }',
  ])
  expect(changed('const limit: 3 | null = Math.min(x ?? y, z)').sort()).toEqual([
    'const limit: 3 | null = Math.max(x ?? y, z)',
    'const limit: 3 | null = Math.min(x, z)',
  ])
})

test('every accepted mutant is one of the code', () => {
  const names = new Set(candidates().map(nameOf))
  expect(Object.keys(ACCEPTED).filter((name) => !names.has(name))).toEqual([])
})

test('a sample of mutants of the decisions about exits and leases is noticed', {
  timeout: 300_000,
}, async () => {
  const all = ['exit.ts', 'lease-clock.ts'].flatMap((file) => candidates(`/${file}`))
  const tried = all.filter((one) => !(nameOf(one) in ACCEPTED))
  const first = Date.now() % Math.floor(tried.length / SAMPLE)
  const sample = tried.filter((_, i) => i % Math.floor(tried.length / SAMPLE) === first)
  const verdicts = await prove(sample, { jobs: 1 })
  const unnoticed = ({ killedBy }: { killedBy: string | null }) => killedBy === null
  expect(
    verdicts.filter(unnoticed).map(({ candidate }: { candidate: Candidate }) => nameOf(candidate)),
  ).toEqual([])
})
