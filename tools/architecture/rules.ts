import { dirname } from 'node:path/posix'
import { findCycles, findKnots, findPath } from './graph.ts'
import { isAbove, type Room, roomOf, roomsAbove } from './rooms.ts'
import type { FoundFunction } from './source.ts'
import { looksLikeSql } from './sql.ts'
import type { ResolvedImport, SourceFile, Tree } from './tree.ts'

export interface Violation {
  rule: string
  file: string
  line: number
  /** What stands there. */
  found: string
  /** What the rule asks for instead. */
  expected: string
}

type Finding = Omit<Violation, 'rule'>
type Rule = (tree: Tree) => Finding[]

const FUNCTION_LINES_MAX = 50
const PARAMETERS_MAX = 4
const VERBS_MAX = 20
const DRIVERS = ['better-sqlite3', 'pg', 'node:sqlite']
const NOT_BEHIND_THE_DOOR: readonly (Room | undefined)[] = [
  'http',
  'supervisor',
  'cli',
  'testing',
  'telemetry',
]
/** Inside `store/`, from what everything may import to what nothing else in it imports. */
const LAYERS: readonly { name: string; files: RegExp }[] = [
  { name: 'ports', files: /^src\/store\/ports\// },
  { name: 'sql', files: /^src\/store\/sql\// },
  { name: 'what both databases share (store/*.ts)', files: /^src\/store\/[^/]+$/ },
  { name: 'scripts', files: /^src\/store\/scripts\// },
  { name: 'sqlite | postgres', files: /^src\/store\/(sqlite|postgres)\// },
  { name: 'by-url', files: /^src\/store\/by-url\// },
]
const NOT_FOR_SRC = ['test', 'examples', 'bench', 'tools', 'web']
const GRAB_BAGS = ['util', 'utils', 'helper', 'helpers', 'misc', 'common']

export const RULES: Record<string, Rule> = {
  readable: eachFile('src', (file) =>
    file.syntaxError
      ? [
          {
            file: file.path,
            line: file.syntaxError.line,
            found: file.syntaxError.value,
            expected: 'code that parses',
          },
        ]
      : [],
  ),

  'known-rooms': eachFile('src', (file) =>
    roomOf(file.path)
      ? []
      : [
          at(
            file,
            'a folder that is no room',
            'one of the rooms of DESIGN section 7 (tools/architecture/rooms.ts)',
          ),
        ],
  ),

  'room-order': eachImport('src', (file, found) => {
    const here = roomOf(file.path)
    const there = found.target && roomOf(found.target)
    if (!here || !there || here === there || isAbove(there, here)) return undefined
    return `${here} imports only from itself and the rooms above it (${roomsAbove(here).join(', ') || 'none'})`
  }),

  'health-alone': eachImport('src/health', (_file, found) => {
    const room = found.target === undefined ? undefined : roomOf(found.target)
    if (room === 'first line' || room === 'health' || found.specifier.startsWith('node:')) return undefined
    return 'health knows ids and four statuses: it imports only the first line'
  }),

  'pure-model': eachImport('src/model', (_file, found) =>
    found.specifier.startsWith('node:')
      ? 'model decides and does no I/O: it imports no node: module'
      : undefined,
  ),

  'public-door': ({ files }) =>
    [...files.values()]
      .filter((file) => NOT_BEHIND_THE_DOOR.includes(roomOf(file.path)))
      .flatMap((file) => {
        const path = findPath(files, 'src/index.ts', file.path)
        if (!path) return []
        const [first] = path
        return [
          finding(first!.file, first!.found, `index.ts never reaches ${roomOf(file.path)}: ${steps(path)}`),
        ]
      }),

  'ports-alone': eachImport('src/store/ports', (_file, found) => {
    if (found.target === undefined || found.target.startsWith('src/store/ports/')) return undefined
    const room = roomOf(found.target)
    if (room === 'first line' || room === 'model' || room === 'define') return undefined
    return 'the ports are what the engine asks of a store: they import nothing from its implementations'
  }),

  'store-layers': eachImport('src/store', (file, found) => {
    const [here, there] = [layerOf(file.path), layerOf(found.target ?? '')]
    if (here === undefined || there === undefined || there <= here) return undefined
    return `inside store/ a layer imports only from layers before it: ${LAYERS.map(({ name }) => name).join(' → ')}`
  }),

  'stores-apart': eachImport('src/store', (file, found) => {
    const [here, there] = [storeOf(file.path), storeOf(found.target ?? '')]
    if (!here || !there || here === there) return undefined
    return 'store/sqlite and store/postgres share the contract and know nothing of each other'
  }),

  'drivers-in-store': eachImport('src', (file, found) => {
    if (mayHoldSql(file) || found.kind === 'type') return undefined
    if (!DRIVERS.some((driver) => found.specifier === driver || found.specifier.startsWith(`${driver}/`)))
      return undefined
    return 'only store (and testing) loads a database driver'
  }),

  'sql-in-store': eachFile('src', (file) =>
    mayHoldSql(file)
      ? []
      : file.texts
          .filter((text) => looksLikeSql(text.value))
          .map((text) => ({
            file: file.path,
            line: text.line,
            found: `SQL: ${text.value.trim().replaceAll(/\s+/g, ' ').slice(0, 60)}`,
            expected: 'all engine SQL lives in store',
          })),
  ),

  'web-sees-wire-types': eachImport('web', (_file, found) => {
    if (found.target === undefined || found.target.startsWith('web/')) return undefined
    // How numbers are read is decided once; the file imports nothing, and runs in browsers.
    if (found.target === 'src/exact-json.ts') return undefined
    const isWire = found.target.startsWith('src/http/wire/')
    return isWire && found.kind === 'type'
      ? undefined
      : "web imports only the types of http's wire (src/http/wire), and exact-json"
  }),

  'src-alone': eachImport('src', (_file, found) => {
    const folder = found.target?.split('/')[0]
    // The dashboard's files are served from disk: a path to them is no import.
    if (!folder || !NOT_FOR_SRC.includes(folder) || (folder === 'web' && found.kind === 'path'))
      return undefined
    return `src never imports from ${NOT_FOR_SRC.join(', ')}`
  }),

  'no-cycles': ({ files }) =>
    findCycles(files).map((cycle) => {
      const last = cycle.at(-1)!
      return finding(last.file, last.found, `no import cycle between files: ${steps(cycle)}`)
    }),

  'no-type-cycles': withinBudget('no-type-cycles', ({ files }) =>
    findKnots(sourcesOf(files)).map((knot) => ({
      file: knot[0]!,
      line: 1,
      found: `files that import each other in a circle: ${knot.join(', ')}`,
      expected: 'no circle of imports, types included',
    })),
  ),

  'no-mutual-folders': withinBudget('no-mutual-folders', ({ files }) => {
    const imports = new Map<string, string>()
    for (const file of sourcesOf(files).values()) {
      for (const { target } of file.imports) {
        if (target === undefined || !files.has(target)) continue
        const [from, to] = [dirname(file.path), dirname(target)]
        if (from !== to && from !== 'src' && to !== 'src') imports.set(`${from} ${to}`, file.path)
      }
    }
    return [...imports].flatMap(([pair, file]) => {
      const [from, to] = pair.split(' ') as [string, string]
      if (from > to || !imports.has(`${to} ${from}`)) return []
      const found = `${from} and ${to} import each other (the other way: ${imports.get(`${to} ${from}`)})`
      return [{ file, line: 1, found, expected: 'of two folders only one imports the other, types included' }]
    })
  }),

  'one-meaning': withinBudget('one-meaning', ({ files }) => {
    const places = new Map<string, { file: string; line: number }[]>()
    for (const file of sourcesOf(files).values()) {
      for (const { name, line } of file.exports) {
        const known = places.get(name) ?? []
        if (known.some((one) => one.file === file.path)) continue
        places.set(name, [...known, { file: file.path, line }])
      }
    }
    return [...places]
      .filter(([, all]) => all.length > 1 && !areTwins(all.map(({ file }) => file)))
      .map(([name, all]) => ({
        ...all[0]!,
        found: `${name} is exported by ${all.map(({ file }) => file).join(', ')}`,
        expected: 'one exported name means one thing (the two stores may share a name)',
      }))
  }),

  'small-ports': ({ files }) => {
    const inPorts = [...files.values()].filter(({ path }) => path.startsWith('src/store/ports/'))
    const known = new Map(inPorts.flatMap(({ interfaces }) => interfaces.map((one) => [one.name, one])))
    const verbsOf = (name: string): number => {
      const found = known.get(name)
      return found === undefined ? 0 : found.extends.reduce((sum, one) => sum + verbsOf(one), found.members)
    }
    return inPorts.flatMap(({ path, interfaces }) =>
      interfaces
        .filter(({ name }) => name.endsWith('Store') && verbsOf(name) > VERBS_MAX)
        .map(({ name, line }) => ({
          file: path,
          line,
          found: `${name} has ${verbsOf(name)} verbs`,
          expected: `at most ${VERBS_MAX} verbs in a port`,
        })),
    )
  },

  'no-grab-bags': ({ paths }) =>
    paths
      .filter((path) => path.split('/').some((name) => GRAB_BAGS.includes(name.split('.')[0]!.toLowerCase())))
      .map((path) => ({
        file: path,
        line: 1,
        found: 'a grab-bag name',
        expected: 'a name that says what is inside',
      })),

  'short-functions': functionsWithinBudget('short-functions', ({ lines }) =>
    lines > FUNCTION_LINES_MAX
      ? [`a function of ${lines} lines`, `at most ${FUNCTION_LINES_MAX} lines in a function`]
      : undefined,
  ),

  'few-parameters': functionsWithinBudget('few-parameters', ({ parameters }) =>
    parameters > PARAMETERS_MAX
      ? [
          `a function with ${parameters} parameters`,
          `at most ${PARAMETERS_MAX}: context travels as one named value`,
        ]
      : undefined,
  ),
}

/** The code still breaks these rules in a number of places, which may only get smaller (budgets.json). */
function withinBudget(rule: string, find: Rule): Rule {
  return (tree) => {
    const all = find(tree)
    return all.length > (tree.budgets[rule] ?? 0) ? all : []
  }
}

function functionsWithinBudget(
  rule: string,
  check: (found: FoundFunction) => [found: string, expected: string] | undefined,
): Rule {
  return withinBudget(
    rule,
    eachFile('src', (file) =>
      file.functions.flatMap((one) => {
        const broken = check(one)
        return broken ? [{ file: file.path, line: one.line, found: broken[0], expected: broken[1] }] : []
      }),
    ),
  )
}

function sourcesOf(files: Tree['files']): Tree['files'] {
  return new Map([...files].filter(([path]) => path.startsWith('src/')))
}

/** One in each store, and nowhere else. */
function areTwins(paths: readonly string[]): boolean {
  return paths.length === 2 && new Set(paths.map(storeOf)).size === 2 && paths.every(storeOf)
}

function eachFile(folder: string, check: (file: SourceFile) => Finding[]): Rule {
  return ({ files }) =>
    [...files.values()].filter((file) => file.path.startsWith(`${folder}/`)).flatMap(check)
}

/** `check` says what the rule expects when the import breaks it. */
function eachImport(
  folder: string,
  check: (file: SourceFile, found: ResolvedImport) => string | undefined,
): Rule {
  return eachFile(folder, (file) =>
    file.imports.flatMap((found) => {
      const expected = check(file, found)
      return expected === undefined ? [] : [finding(file, found, expected)]
    }),
  )
}

function finding(file: SourceFile, found: ResolvedImport, expected: string): Finding {
  return { file: file.path, line: found.line, found: `imports '${found.specifier}'`, expected }
}

function at(file: SourceFile, found: string, expected: string): Finding {
  return { file: file.path, line: 1, found, expected }
}

function steps(path: { file: SourceFile; found: ResolvedImport }[]): string {
  return [path[0]!.file.path, ...path.map((step) => step.found.target)].join(' → ')
}

/** The place of a file of `store/` in the order of its layers. */
function layerOf(path: string): number | undefined {
  const place = LAYERS.findIndex(({ files }) => files.test(path))
  return place < 0 ? undefined : place
}

function storeOf(path: string): string | undefined {
  return /^src\/store\/(sqlite|postgres)\//.exec(path)?.[1]
}

function mayHoldSql(file: SourceFile): boolean {
  const room = roomOf(file.path)
  return room === 'store' || room === 'testing'
}
