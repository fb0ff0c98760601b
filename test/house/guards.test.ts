import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Guard, isNamed, rotOf } from '../../tools/guards/guard.ts'
import { GUARDS } from '../../tools/guards/list.ts'
import { identifiersOf, type Place, placesOf } from '../../tools/guards/locate.ts'
import { type Proof, proveGuards } from '../../tools/guards/prove.ts'
import { listTests } from '../../tools/guards/vitest.ts'

const checkout = join(import.meta.dirname, '../..')
const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'gleaner-guards-test-')))
// The tests' PostgreSQL runs as a user of its own when we are root, and must get to its files.
chmodSync(scratch, 0o755)

// The runs inside this one need no server of their own.
process.env.GLEANER_TEST_POSTGRES_URL = inject('postgresUrl')

afterAll(() => rmSync(scratch, { recursive: true }))

describe('the list of guards', () => {
  let tests: { name: string; file: string }[]

  beforeAll(async () => {
    const files = [...new Set(GUARDS.map(({ test }) => test.file))]
    tests = await listTests(checkout, files, { scratch, limitMs: 600_000 })
  }, 600_000)

  test('has a name of its own for each', () => {
    expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length)
  })

  test.each(GUARDS)('$name: it is found once', (guard) => {
    expect(rotOf(checkout, guard)).toBeUndefined()
  })

  test.each(GUARDS)('$name: it is found where it was, whatever it names is renamed', ({ file, find }) => {
    const code = readFileSync(join(checkout, file), 'utf8')
    const [place] = placesOf(file, code, find)
    for (const name of namesIn(file, code, place!)) {
      const renamed = rename(file, code, name)
      const found = placesOf(file, renamed.code, find).map(({ start }) => begin(renamed.code, start))
      expect(found, name).toEqual([renamed.at(begin(code, place!.start))])
    }
  })

  test.each(GUARDS)('$name: its test exists', ({ test: { file, title } }) => {
    const names = tests.filter((found) => found.file === file).map(({ name }) => name)
    expect(names.filter((name) => isNamed(name, title))).not.toEqual([])
  })
})

function namesIn(file: string, code: string, { start, end }: Place): Set<string> {
  const identifiers = [...identifiersOf(file, code)]
  return new Set(
    identifiers.filter(([at, to]) => at >= start && to <= end).map(([at, to]) => code.slice(at, to)),
  )
}

/** Everything of this name in the module gets another one. `at`: where a place of the old code is in the new one. */
function rename(file: string, code: string, name: string): { code: string; at: (place: number) => number } {
  const ends = [...identifiersOf(file, code)]
    .filter(([at, to]) => code.slice(at, to) === name)
    .map(([, to]) => to)
    .sort((a, b) => b - a)
  const other = '_of_another_name'
  return {
    code: ends.reduce((text, end) => text.slice(0, end) + other + text.slice(end), code),
    at: (place) => place + ends.filter((end) => end <= place).length * other.length,
  }
}

/** Space before it does not matter. */
function begin(code: string, place: number): number {
  return place + /^\s*/.exec(code.slice(place))![0].length
}

describe('taking a guard out', () => {
  const root = join(scratch, 'planted')
  let proofs: Map<Guard, Proof>

  const age: Guard = {
    name: 'age',
    promise: 'No children.',
    file: 'src/door.ts',
    find: 'if (age < 18) return "too young"',
    replace: '',
    test: { file: 'test/door.test.ts', title: 'children are refused (under 18)' },
  }
  const ticket: Guard = { ...age, name: 'ticket', find: 'if (!ticket) return "no ticket"' }
  const named = (title: string) => ({ file: 'test/door.test.ts', title })

  const cases: [string, Guard, unknown][] = [
    [
      'is noticed when its test fails',
      age,
      { kind: 'noticed', failure: expect.stringContaining('too young') },
    ],
    [
      'is noticed when its variables have other names in the code, and it is in another file',
      {
        ...age,
        file: 'src/moved.ts',
        find: 'if (years < 18) return "too young"',
        replace: 'if (years < 0) return "too young"',
      },
      { kind: 'noticed', failure: expect.stringContaining('too young') },
    ],
    [
      'is noticed by a test named with its group',
      { ...age, test: named('the door > children are refused (under 18)') },
      { kind: 'noticed', failure: expect.stringContaining('too young') },
    ],
    [
      'goes unnoticed when its test passes without it',
      { ...ticket, test: named('grown-ups are welcome') },
      { kind: 'unnoticed' },
    ],
    [
      'proves nothing when the patched file does not load',
      { ...age, replace: 'if (' },
      {
        kind: 'unproven',
        why: expect.stringMatching(/^without the guard the test gave no verdict: .*Unexpected token/),
      },
    ],
    [
      'proves nothing when the test fails anyway',
      { ...ticket, test: named('broken anyway') },
      { kind: 'unproven', why: expect.stringContaining('with the guard in place the test failed') },
    ],
    [
      'proves nothing when no test has the title',
      { ...ticket, test: named('children are') },
      { kind: 'unproven', why: 'test/door.test.ts has no test "children are"' },
    ],
    [
      'proves nothing when the text to find is gone',
      { ...age, find: 'if (age < 21)' },
      { kind: 'unproven', why: 'the text to find occurs 0 times in src/door.ts, not once' },
    ],
    [
      'proves nothing when the text to find is not the only one',
      { ...age, find: 'return' },
      { kind: 'unproven', why: 'the text to find occurs 3 times in src/door.ts, not once' },
    ],
  ]

  beforeAll(async () => {
    const plan = {
      'package.json': '{ "type": "module" }',
      'src/door.ts': [
        'export function enter(age: number, ticket: boolean): string {',
        '  if (age < 18) return "too young"',
        '  if (!ticket) return "no ticket"',
        '  return "welcome"',
        '}',
      ].join('\n'),
      'test/door.test.ts': [
        'import { describe, expect, test } from "vitest"',
        'import { enter } from "../src/door.ts"',
        'describe("the door", () => {',
        '  test("children are refused (under 18)", () => expect(enter(9, true)).toBe("too young"))',
        '  test("grown-ups are welcome", () => expect(enter(40, true)).toBe("welcome"))',
        '  test("broken anyway", () => expect(enter(40, true)).toBe("no ticket"))',
        '})',
      ].join('\n'),
    }
    for (const [path, code] of Object.entries(plan)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), code)
    }
    symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))

    // All in one go: vitest starts once before, and once for each guard that is worth a try.
    const guards = cases.map(([, guard]) => guard)
    proofs = await proveGuards(guards, { root, jobs: 2, limitMs: 60_000 })
  })

  test.each(cases)('%s', (_title, guard, proof) => {
    expect(proofs.get(guard)).toEqual(proof)
  })
})
