import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { checkArchitecture, describeViolation } from '../../tools/architecture/check.ts'
import { RULES } from '../../tools/architecture/rules.ts'

const checkout = join(import.meta.dirname, '../..')

/** Paths of a small checkout, and what stands in each file. */
type Plan = Record<string, string>

const planted: string[] = []

afterEach(() => {
  for (const root of planted.splice(0)) rmSync(root, { recursive: true })
})

function plant(plan: Plan): string {
  const root = mkdtempSync(join(tmpdir(), 'gleaner-architecture-'))
  planted.push(root)
  for (const [path, code] of Object.entries(plan)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), code)
  }
  return root
}

const violationsOf = (plan: Plan) => checkArchitecture(plant(plan)).map(describeViolation)

test('our own house is in order', () => {
  expect(checkArchitecture(checkout).map(describeViolation)).toEqual([])
})

test('a small house in order has no violation', () => {
  expect(
    violationsOf({
      'src/errors.ts': `export class GleanerError {}`,
      'src/duration.ts': `import { GleanerError } from './errors.ts'\nexport type Duration = number`,
      'src/model/task.ts': `import type { Duration } from '../duration.ts'`,
      'src/store/ports/tasks.ts': `import type { Task } from '../../model/task.ts'`,
      'src/store/sqlite/store.ts': `import Database from 'better-sqlite3'\nconst sql = 'SELECT 1 FROM task'`,
      'src/engine/open.ts': `const store = await import('../store/sqlite/store.ts')`,
      'src/define/hint.ts': `// import '../http/app.ts'\nexport const hint = "Select a queue. import('../cli/x.ts')"`,
      'src/http/wire/types.ts': `export type { Task } from '../model/task.ts'`,
      'src/testing/open.ts': `import Database from 'better-sqlite3'`,
      'src/index.ts': `export { open } from './engine/open.ts'\nimport type {} from 'better-sqlite3'`,
      'web/app.tsx': `import type { Task } from '../src/http/wire/types.ts'\nexport const App = () => <p>{0}</p>`,
    }),
  ).toEqual([])
})

/** One breach for each rule, and what must be said about it. */
const BREACHES: Record<string, { plan: Plan; says: string[] }[]> = {
  readable: [
    {
      plan: { 'src/model/task.ts': 'export const task = 1\nexport const = 2' },
      says: ['src/model/task.ts:2  Unexpected token  [readable] code that parses'],
    },
  ],
  'known-rooms': [
    {
      plan: { 'src/attic/trunk.ts': 'export {}' },
      says: ['src/attic/trunk.ts:1  a folder that is no room  [known-rooms]'],
    },
  ],
  'room-order': [
    'import { open } from "../engine/open.ts"',
    'import type { Open } from "../engine/open.ts"',
    'export * from "../engine/open.ts"',
    'export type { Open } from "../engine/open.ts"',
    'const open = await import("../engine/open.ts")',
    'type Open = import("../engine/open.ts").Open',
    'const open = require("../engine/open.ts")',
    'new Worker(new URL("../engine/open.ts", import.meta.url))',
    'import.meta.resolve("../engine/open.ts")',
    'join(import.meta.dirname, "../engine/open.ts")',
  ].map((code) => ({
    plan: { 'src/engine/open.ts': 'export {}', 'src/queue/enqueue.ts': `\n${code}` },
    says: [
      "src/queue/enqueue.ts:2  imports '../engine/open.ts'  [room-order] " +
        'queue imports only from itself and the rooms above it (first line, model, define, telemetry, store, observe)',
    ],
  })),
  'health-alone': [
    {
      plan: { 'src/model/task.ts': '', 'src/health/monitor.ts': 'import type {} from "../model/task.ts"' },
      says: ["src/health/monitor.ts:1  imports '../model/task.ts'  [health-alone]"],
    },
    {
      plan: { 'src/health/monitor.ts': 'import pino from "pino"' },
      says: ["src/health/monitor.ts:1  imports 'pino'  [health-alone]"],
    },
  ],
  'pure-model': [
    {
      plan: { 'src/model/task.ts': 'import { readFileSync } from "node:fs"' },
      says: ["src/model/task.ts:1  imports 'node:fs'  [pure-model]"],
    },
  ],
  'public-door': [
    {
      plan: {
        'src/http/app.ts': 'export {}',
        'src/testing/open.ts': 'import "../http/app.ts"',
        'src/index.ts': 'export {}\nexport * from "./testing/open.ts"',
      },
      says: [
        "src/index.ts:2  imports './testing/open.ts'  [public-door] " +
          'index.ts never reaches http: src/index.ts → src/testing/open.ts → src/http/app.ts',
        "src/index.ts:2  imports './testing/open.ts'  [public-door] " +
          'index.ts never reaches testing: src/index.ts → src/testing/open.ts',
      ],
    },
    ...['supervisor', 'cli'].map((room) => ({
      plan: { [`src/${room}/run.ts`]: '', 'src/index.ts': `const run = () => import("./${room}/run.ts")` },
      says: [`src/index.ts:1  imports './${room}/run.ts'  [public-door] index.ts never reaches ${room}`],
    })),
  ],
  'ports-alone': [
    {
      plan: { 'src/store/sql/sql.ts': '', 'src/store/ports/tasks.ts': 'import type {} from "../sql/sql.ts"' },
      says: ["src/store/ports/tasks.ts:1  imports '../sql/sql.ts'  [ports-alone]"],
    },
  ],
  'store-layers': [
    {
      plan: {
        'src/store/scripts/list.ts': '',
        'src/store/lane.ts': 'import type {} from "./scripts/list.ts"',
      },
      says: [
        "src/store/lane.ts:1  imports './scripts/list.ts'  [store-layers] inside store/ a layer imports only",
      ],
    },
    {
      plan: {
        'src/store/by-url/open.ts': '',
        'src/store/sqlite/store.ts': 'import type {} from "../by-url/open.ts"',
      },
      says: ["src/store/sqlite/store.ts:1  imports '../by-url/open.ts'  [store-layers]"],
    },
  ],
  'stores-apart': [
    {
      plan: { 'src/store/sqlite/a.ts': '', 'src/store/postgres/b.ts': 'import "../sqlite/a.ts"' },
      says: ["src/store/postgres/b.ts:1  imports '../sqlite/a.ts'  [stores-apart]"],
    },
    {
      plan: {
        'src/store/postgres/b.ts': '',
        'src/store/sqlite/a.ts': 'import type {} from "../postgres/b.ts"',
      },
      says: ["src/store/sqlite/a.ts:1  imports '../postgres/b.ts'  [stores-apart]"],
    },
  ],
  'drivers-in-store': ['better-sqlite3', 'pg', 'pg/lib/client.js', 'node:sqlite'].map((driver) => ({
    plan: { 'src/queue/enqueue.ts': `import Driver from '${driver}'` },
    says: [`src/queue/enqueue.ts:1  imports '${driver}'  [drivers-in-store]`],
  })),
  'sql-in-store': [
    'select * from task',
    '-- why\n UPDATE task SET status = 1',
    'insert or ignore into task values (1)',
    'with due as (select 1) select 2',
    'PRAGMA user_version',
  ].map((sql) => ({
    plan: { 'src/queue/list.ts': `\nconst sql = \`${sql}\`` },
    says: [
      `src/queue/list.ts:2  SQL: ${sql.replaceAll(/\s+/g, ' ')}  [sql-in-store] all engine SQL lives in store`,
    ],
  })),
  'web-sees-wire-types': [
    {
      plan: { 'src/model/task.ts': '', 'web/app.tsx': 'import type {} from "../src/model/task.ts"' },
      says: ["web/app.tsx:1  imports '../src/model/task.ts'  [web-sees-wire-types]"],
    },
    {
      plan: { 'src/http/wire/types.ts': '', 'web/app.tsx': 'import { x } from "../src/http/wire/types.ts"' },
      says: ["web/app.tsx:1  imports '../src/http/wire/types.ts'  [web-sees-wire-types]"],
    },
    {
      plan: {
        'src/exact-json.ts': '',
        'web/app.tsx': 'import { openGleaner } from "gleaner"\nimport { x } from "../src/exact-json.ts"',
      },
      says: ["web/app.tsx:1  imports 'gleaner'  [web-sees-wire-types]"],
    },
  ],
  'src-alone': ['test', 'examples', 'bench', 'tools', 'web'].map((folder) => ({
    plan: { [`${folder}/part.ts`]: '', 'src/cli/run.ts': `import '../../${folder}/part.ts'` },
    says: [`src/cli/run.ts:1  imports '../../${folder}/part.ts'  [src-alone]`],
  })),
  'no-cycles': [
    {
      plan: {
        'src/queue/a.ts': 'import "./b.ts"',
        'src/queue/b.ts': 'import "./c.ts"',
        'src/queue/c.ts': '\n\nimport "./a.ts"',
      },
      says: [
        "src/queue/c.ts:3  imports './a.ts'  [no-cycles] no import cycle between files: " +
          'src/queue/a.ts → src/queue/b.ts → src/queue/c.ts → src/queue/a.ts',
      ],
    },
  ],
  'no-type-cycles': [
    {
      plan: {
        'src/queue/a.ts': 'import type {} from "./b.ts"',
        'src/queue/b.ts': 'import type {} from "./a.ts"',
      },
      says: [
        'src/queue/a.ts:1  files that import each other in a circle: src/queue/a.ts, src/queue/b.ts  [no-type-cycles]',
      ],
    },
  ],
  'no-mutual-folders': [
    {
      plan: {
        'src/queue/a.ts': 'import type {} from "./inner/b.ts"',
        'src/queue/c.ts': '',
        'src/queue/inner/b.ts': 'import type {} from "../c.ts"',
      },
      says: [
        'src/queue/a.ts:1  src/queue and src/queue/inner import each other ' +
          '(the other way: src/queue/inner/b.ts)  [no-mutual-folders]',
      ],
    },
  ],
  'one-meaning': [
    {
      plan: { 'src/queue/a.ts': 'export interface Turn {}', 'src/worker/b.ts': '\nexport const Turn = 1' },
      says: ['src/queue/a.ts:1  Turn is exported by src/queue/a.ts, src/worker/b.ts  [one-meaning]'],
    },
  ],
  'small-ports': [
    {
      plan: {
        'src/store/ports/part.ts': `export interface Part {${' verb(): void;'.repeat(11)} }`,
        'src/store/ports/many.ts': `import type { Part } from './part.ts'\nexport interface ManyStore extends Part {${' verb(): void;'.repeat(10)} }`,
      },
      says: ['src/store/ports/many.ts:2  ManyStore has 21 verbs  [small-ports] at most 20 verbs in a port'],
    },
  ],
  'no-grab-bags': ['src/queue/utils.ts', 'src/helpers.ts', 'test/misc.test.ts', 'tools/common/x.ts'].map(
    (path) => ({
      plan: { [path]: '' },
      says: [`${path}:1  a grab-bag name  [no-grab-bags] a name that says what is inside`],
    }),
  ),
  'short-functions': [
    {
      plan: { 'src/queue/long.ts': `export function long() {\n${'  //\n'.repeat(49)}}` },
      says: ['src/queue/long.ts:1  a function of 51 lines  [short-functions] at most 50 lines in a function'],
    },
  ],
  'few-parameters': [
    {
      plan: { 'src/queue/many.ts': 'export const many = (a, b, c, d, e) => [a, b, c, d, e]' },
      says: ['src/queue/many.ts:1  a function with 5 parameters  [few-parameters] at most 4'],
    },
  ],
}

describe('a planted breach is found', () => {
  test('and there is one for each rule', () => {
    expect(Object.keys(BREACHES)).toEqual(Object.keys(RULES))
  })

  const cases = Object.entries(BREACHES).flatMap(([rule, breaches]) =>
    breaches.map((breach, index) => ({ ...breach, title: `${rule} ${index + 1}` })),
  )
  test.each(cases)('$title', ({ plan, says }) => {
    const violations = violationsOf(plan)
    expect(violations).toEqual(expect.arrayContaining(says.map((part) => expect.stringContaining(part))))
  })
})

test.each([
  ['a template', `\`./thread\${extname(import.meta.filename)}\``],
  ['a sum', '"./thread" + extname(import.meta.filename)'],
  ['a choice', 'import.meta.url.endsWith(".ts") ? "./thread.ts" : "./thread.js"'],
])('a thread whose extension is chosen at run time by %s is seen', (_how, expression) => {
  const violations = violationsOf({
    'src/worker/thread.ts': 'import "./keeper.ts"',
    'src/worker/keeper.ts': `new Worker(new URL(${expression}, import.meta.url))`,
  })
  expect(violations.join('\n')).toContain(
    'src/worker/keeper.ts → src/worker/thread.ts → src/worker/keeper.ts',
  )
})

test('the package may not be imported from inside by its own name', () => {
  const [violation] = violationsOf({
    'src/index.ts': '',
    'src/cli/run.ts': 'import { openGleaner } from "gleaner"',
  })
  expect(violation).toContain("src/cli/run.ts:1  imports 'gleaner'  [room-order]")
})

describe('the program', () => {
  const run = (root: string) =>
    spawnSync(process.execPath, [join(checkout, 'tools/architecture/run.ts'), root], { encoding: 'utf8' })

  test('prints each violation and exits with 1', () => {
    const { status, stderr } = run(plant({ 'src/attic/trunk.ts': '', 'src/helpers.ts': '' }))
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining('src/attic/trunk.ts:1'),
      expect.stringContaining('src/helpers.ts:1'),
      '',
      '2 violations of the house rules.',
    ])
    expect(status).toBe(1)
  })

  test('exits with 0 when there is none', () => {
    expect(run(plant({ 'src/index.ts': '' })).status).toBe(0)
  })
})
