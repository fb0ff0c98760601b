import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import * as door from '../../src/index.ts'
import { checkout, folderWith, GLEANER } from './files.ts'

const DATABASE = "database: 'sqlite:./app.db'"
const load = (folder: string, env: NodeJS.ProcessEnv = {}) => loadConfig(undefined, { cwd: folder, env })

describe('a config is found', () => {
  test.each(['gleaner.config.ts', 'gleaner.config.js', 'gleaner.config.mjs'])('as %s', async (name) => {
    const folder = folderWith({ [name]: `export default { ${DATABASE} }` })
    expect((await load(folder)).path).toBe(join(folder, name))
  })

  test('from a folder below it, with its database beside it', async () => {
    const folder = folderWith({ 'gleaner.config.ts': `export default { ${DATABASE} }`, 'a/b/x.txt': '' })
    const { engine } = await load(join(folder, 'a/b'))
    expect(engine.database).toBe(`sqlite:${join(folder, 'app.db')}`)
  })

  test('at a path that is named', async () => {
    const folder = folderWith({ 'conf/mine.ts': `export default { ${DATABASE} }` })
    expect((await loadConfig('conf/mine.ts', { cwd: folder, env: {} })).path).toBe(
      join(folder, 'conf/mine.ts'),
    )
  })

  test('as TypeScript with types, and tasks from a file of their own', () => {
    const folder = folderWith({
      'tasks.ts': `import { defineTask } from ${GLEANER}
        export const greet = defineTask({ name: 'greet', run: async (): Promise<string> => 'hello' })`,
      'gleaner.config.ts': `import { defineConfig, type ConfigOptions } from ${GLEANER}
        import { greet } from './tasks.ts'
        const pools: ConfigOptions['pools'] = { all: {} }
        export default defineConfig({ ${DATABASE}, tasks: [greet], pools })`,
    })
    const [{ tasks, pools }] = loadedByNode([folder])
    expect(tasks).toEqual(['greet'])
    expect(pools).toEqual([
      {
        name: 'all',
        processes: 1,
        concurrency: 10,
        discoveries: [],
        capabilities: {},
        strategies: {},
      },
    ])
  })
})

describe('a config that cannot be loaded is explained', () => {
  const CASES: [string, Record<string, string>, RegExp][] = [
    ['there is none', {}, /there is no gleaner\.config\.ts.*gleaner init/],
    [
      'there are two',
      { 'gleaner.config.ts': '', 'gleaner.config.js': '' },
      /several configs: .*gleaner\.config\.ts, .*Keep one/,
    ],
    [
      'it exports nothing',
      { 'gleaner.config.ts': 'export {}' },
      /no default export.*export default defineConfig/,
    ],
    [
      'it exports under a name',
      { 'gleaner.config.ts': `export const config = { ${DATABASE} }` },
      /no default export.*It exports config; write `export default/,
    ],
    [
      './tasks.js is a TypeScript file',
      { 'gleaner.config.ts': "import './tasks.js'\nexport default {}", 'tasks.ts': '' },
      /Cannot find module.*Import \.\/tasks\.ts instead/,
    ],
    [
      'an import has no extension',
      { 'gleaner.config.ts': "import './tasks'\nexport default {}", 'tasks.ts': '' },
      /Write the full name: \.\/tasks\.ts exists/,
    ],
    [
      'an import leads nowhere',
      { 'gleaner.config.ts': "import './nowhere.ts'\nexport default {}" },
      /Check the path\. A relative path starts at the file that imports it/,
    ],
    [
      'a folder is imported',
      { 'gleaner.config.ts': "import './tasks'\nexport default {}", 'tasks/index.ts': '' },
      /A folder cannot be imported\. Name the file/,
    ],
    [
      'a package is not installed',
      { 'gleaner.config.ts': "import 'not-there-at-all'\nexport default {}" },
      /Install it: npm install not-there-at-all/,
    ],
    [
      'it has an enum',
      { 'gleaner.config.ts': 'enum Colour { Red }\nexport default { c: Colour.Red }' },
      /enum.*Node only removes types.*as const.*erasableSyntaxOnly/,
    ],
    [
      'what it imports has a namespace',
      {
        'gleaner.config.ts': "import './n.ts'\nexport default {}",
        'n.ts': 'namespace N { export const x = 1 }\nexport const y = N.x',
      },
      /namespace.*Node only removes types/,
    ],
    ['it is not TypeScript', { 'gleaner.config.ts': 'export default {{' }, /npx tsc --noEmit/],
    [
      'it is not JavaScript',
      { 'gleaner.config.js': 'const n: number = 1\nexport default n' },
      /`node gleaner\.config\.js` shows the place\. A file with types must end in \.ts/,
    ],
    [
      'a type is imported as a value',
      {
        'gleaner.config.ts': "import { T } from './t.ts'\nexport default {}",
        't.ts': 'export type T = number',
      },
      /If T is a type, import it with `import type`/,
    ],
    [
      'a task in it is wrong',
      {
        'gleaner.config.ts': `import { defineTask } from ${GLEANER}\nexport default { tasks: [defineTask({ name: '' })] }`,
      },
      /could not be loaded: defineTask: name: "" is not a name\. Use 1 to 100 letters/,
    ],
    [
      'it throws',
      { 'gleaner.config.ts': "throw new Error('no luck')" },
      /could not be loaded: Error: no luck/,
    ],
    ['it exports a function', { 'gleaner.config.ts': 'export default () => ({})' }, /Export an object/],
  ]
  let told: { name: string; code: string; message: string }[]
  beforeAll(() => {
    told = loadedByNode(CASES.map(([, files]) => folderWith(files, afterAll)))
  })

  test.each(CASES.map(([what, , expected], i) => [what, expected, i] as const))(
    '%s',
    (_what, expected, i) => {
      expect(told[i]).toMatchObject({ name: 'InputError', code: 'BAD_CONFIG' })
      expect(told[i]!.message).toMatch(expected)
      expect(told[i]!.message).toContain('gleaner-config-')
    },
  )
})

describe('the environment goes before the config', () => {
  const files = {
    'gleaner.config.ts': `export default { ${DATABASE}, server: { host: 'a.example', port: 1, token: 'a-token-of-the-config' } }`,
  }

  test('for the database and the server', async () => {
    const env = {
      GLEANER_DATABASE: 'postgres://db.example/app',
      GLEANER_HOST: '0.0.0.0',
      GLEANER_PORT: '9000',
      GLEANER_TOKEN: 'a-secret-of-operators',
    }
    const { engine, server } = await load(folderWith(files), env)
    expect(engine.database).toBe('postgres://db.example/app')
    expect(server).toMatchObject({
      host: '0.0.0.0',
      port: 9000,
      tokens: [{ role: 'operator', token: 'a-secret-of-operators' }],
    })
  })

  test('unless a variable is empty', async () => {
    const env = { GLEANER_DATABASE: '', GLEANER_HOST: '', GLEANER_PORT: '', GLEANER_TOKEN: '' }
    expect((await load(folderWith(files), env)).server).toMatchObject({
      host: 'a.example',
      port: 1,
      tokens: [{ name: 'operator', token: 'a-token-of-the-config' }],
    })
  })

  test('and a config without a database is enough beside it', async () => {
    const folder = folderWith({ 'gleaner.config.ts': 'export default {}' })
    const { engine } = await load(folder, { GLEANER_DATABASE: 'sqlite:here.db' })
    expect(engine.database).toBe('sqlite:here.db')
    await expect(load(folder)).rejects.toThrow(/database: undefined is not valid.*GLEANER_DATABASE/)
  })

  test.each(['x', '-1', '65536', '80.5', '0x50'])('a port of %s is refused', async (port) => {
    await expect(load(folderWith(files), { GLEANER_PORT: port })).rejects.toThrow(/GLEANER_PORT.*0 to 65535/)
  })

  test('a database URL that is none is refused without repeating its password', async () => {
    const error = await load(folderWith(files), { GLEANER_DATABASE: 'mysql://u:secret@h/d' }).catch((e) => e)
    expect(error).toMatchObject({ code: 'BAD_CONFIG' })
    expect(error.message).not.toContain('secret')
  })
})

test('tasks and errors of another copy of the package are recognised', () => {
  const folder = folderWith({
    'gleaner.config.ts': `
      import { defineConfig, defineTask, PermanentError, RetryLater } from 'gleaner'
      const hello = defineTask({ name: 'hello', run: async () => 'from the other copy' })
      const never = defineTask({ name: 'never', run: async () => { throw new PermanentError('never') } })
      const later = defineTask({ name: 'later', run: async (_input, ctx) => {
        if (!ctx.signal.aborted) throw new RetryLater('1h') } })
      export default defineConfig({ ${DATABASE}, tasks: [hello, never, later] })`,
  })
  // A real second copy: its own files, which Node loads as modules of their own.
  const copy = join(folder, 'copy')
  mkdirSync(join(folder, 'node_modules'))
  cpSync(join(checkout, 'src'), join(copy, 'src'), { recursive: true })
  cpSync(join(checkout, 'package.json'), join(copy, 'package.json'))
  symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'))
  folderLink(folder, copy)

  const [hello, never, later] = JSON.parse(byNode('work.ts', folder))
  expect(hello).toEqual(['hello', 'completed', 'from the other copy'])
  expect(never).toEqual(['never', 'failed', 'permanent'])
  expect(later).toEqual(['later', 'scheduled', null])
})

test('every error of the public door carries the mark that other copies look for', () => {
  const classes = Object.values(door).filter(
    (one): one is typeof door.GleanerError => typeof one === 'function' && one.prototype instanceof Error,
  )
  expect(classes.length).toBeGreaterThan(10)
  expect(classes.filter((one) => !Object.hasOwn(one, Symbol.for('gleaner.error')))).toEqual([])
})

test('what a user derives from an error of ours is only what it is', () => {
  class Mine extends door.PermanentError {}
  class Other extends door.PermanentError {}
  expect(new Mine('x')).toBeInstanceOf(door.PermanentError)
  expect(new Mine('x')).not.toBeInstanceOf(Other)
  expect(new door.PermanentError('x')).not.toBeInstanceOf(Mine)
  expect(new door.PermanentError('x')).not.toBeInstanceOf(door.RetryLater)
})

/** `import 'gleaner'` in this folder means that copy: its sources, as the checkout is not built. */
function folderLink(folder: string, copy: string): void {
  symlinkSync(copy, join(folder, 'node_modules/gleaner'))
  mkdirSync(join(copy, 'dist'))
  symlinkSync(join(copy, 'src/index.ts'), join(copy, 'dist/index.js'))
}

// Not in this process: here it is vite that imports, and it says other things than Node.
function loadedByNode(folders: readonly string[]): any[] {
  return JSON.parse(byNode('load.ts', JSON.stringify(folders)))
}

function byNode(program: string, argument: string): string {
  const path = join(import.meta.dirname, 'programs', program)
  return execFileSync(process.execPath, [path, argument], { encoding: 'utf8', timeout: 25_000 })
}
