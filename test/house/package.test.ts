import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { knownStart, readSource } from '../../tools/architecture/source.ts'
import { copyCheckout } from '../../tools/checkout-copy.ts'
import { contents, DECISIONS } from '../../tools/docs/contents.ts'
import { anchorsOf, linksOf } from '../../tools/docs/markdown.ts'
import { packedPages } from '../../tools/release/packed-pages.ts'

const checkout = join(import.meta.dirname, '../..')
const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'gleaner-package-')))
const build = join(scratch, 'build')
const project = join(scratch, 'project')
const installed = join(project, 'node_modules/gleaner')
const gleaner = join(project, 'node_modules/.bin/gleaner')

/** Ranges take what is newest. This project has the versions of the lock file, so that a release of others breaks no test. */
const { dependencies } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
const locked = (name: string): string =>
  JSON.parse(readFileSync(join(checkout, 'node_modules', name, 'package.json'), 'utf8')).version
const companions = ['zod', '@types/node'].map((name) => `${name}@${locked(name)}`)
const overrides = Object.fromEntries(
  Object.keys(dependencies)
    .filter((name) => name !== 'zod')
    .map((name) => [name, locked(name)]),
)

/** Where the release is published, for the links of its README. */
const REPOSITORY = 'https://code.example/owner/gleaner'

beforeAll(() => {
  copyCheckout(checkout, build)
  npm(build, 'pack', '--pack-destination', scratch)
  const tarball = readdirSync(scratch).find((name) => name.endsWith('.tgz'))!
  mkdirSync(project)
  write(
    'package.json',
    JSON.stringify({ name: 'an-empty-project', private: true, type: 'module', overrides }),
  )
  npm(
    project,
    'install',
    join(scratch, tarball),
    ...companions,
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
  )
}, 180_000)

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('the package', () => {
  test('holds the build and what npm shows of it, nothing else', () => {
    const others = packedFiles().filter(
      (path) => !/^dist\/(.+\.(js|d\.ts)|web\/(index\.html|assets\/[^/]+\.(css|svg)))$/.test(path),
    )
    expect(others.sort()).toEqual([
      'AGENTS.md',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'llms-full.txt',
      'llms.txt',
      'package.json',
    ])
    expect(packedFiles().filter((path) => /test\.|\.test|__tests__|fixture/.test(path))).toEqual([])
  })

  test('has the dashboard, of which a browser loads less than 200 kB at first', () => {
    const page = textOf('dist/web/index.html')
    const files = [...page.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, path]) => textOf(`dist/web/${path}`))
    expect(files.length).toBeGreaterThanOrEqual(3)
    const bytes = [page, ...files].map((text) => gzipSync(text).length)
    expect(bytes.reduce((sum, n) => sum + n, 0)).toBeLessThan(200_000)
  })

  test('names no folder of the machine it was built on', () => {
    const home = [checkout, scratch, process.env.HOME ?? checkout].filter((folder) => folder !== '/')
    const telling = packedFiles().filter((path) => home.some((folder) => textOf(path).includes(folder)))
    expect(telling).toEqual([])
  })

  test('has every file that another one in it names', () => {
    const missing = packedFiles()
      .filter((path) => path.startsWith('dist/'))
      .flatMap((path) => missingBeside(path))
    expect(missing).toEqual([])
  })

  test('has no dead link: without a repository, links to what it does not have are plain text', () => {
    for (const page of PAGES)
      expect(
        linksOf(textOf(page)).filter(({ target }) => !leadsSomewhere(page, target)),
        page,
      ).toEqual([])
    expect(textOf('README.md')).toContain('AGENTS.md](AGENTS.md)')
    expect(textOf('README.md')).not.toContain('](docs/')
  })

  test('with a repository, every link and picture leads to the release in it', () => {
    const { version } = JSON.parse(textOf('package.json'))
    const pages = packedPages(`${REPOSITORY}.git`)
    const links = PAGES.flatMap((page) => linksOf(pages[page]!).map(({ target }) => [page, target] as const))
    const [outside, inside] = [
      links.filter(([, target]) => target.startsWith(REPOSITORY)),
      links.filter(([, target]) => !target.startsWith('https:')),
    ]
    expect(inside.filter(([page, target]) => !leadsSomewhere(page, target))).toEqual([])
    expect(outside.length).toBeGreaterThan(60)
    const dead = outside.filter(([, target]) => {
      const [, kind, tag, path] = /gleaner\/(blob|raw)\/([^/]+)\/([^#]+)/.exec(target) ?? []
      const isPicture = /\.(?:png|svg)$/.test(path ?? '')
      return (
        tag !== `v${version}` || kind !== (isPicture ? 'raw' : 'blob') || !existsSync(join(checkout, path!))
      )
    })
    expect(dead).toEqual([])
  })

  test('has the text of every page for programs, and an index of them', () => {
    const told = contents()
      .filter(({ title }) => title !== DECISIONS)
      .flatMap(({ entries }) => entries)
      .filter(({ page }) => !page.startsWith('decisions/'))
    expect(told.length).toBeGreaterThan(30)
    const [index, full] = [textOf('llms.txt'), textOf('llms-full.txt')]
    for (const { page, title } of told) {
      expect(index).toContain(`- ${title} (${page}): `)
      expect(full).toContain(`<page path="${page}">`)
    }
    const named = [...full.matchAll(/\]\((?!https?:|#|AGENTS|CHANGELOG|README)([^)#\s]+\.md)/g)].map(
      ([, page]) => page,
    )
    expect(named.filter((page) => !full.includes(`<page path="${page}">`))).toEqual([])
  })

  test('packing leaves the pages of the checkout as they were', () => {
    for (const page of ['README.md', 'CHANGELOG.md', 'AGENTS.md'])
      expect(readFileSync(join(build, page), 'utf8')).toBe(readFileSync(join(checkout, page), 'utf8'))
    expect(existsSync(join(build, 'llms.txt'))).toBe(false)
  })

  test('has every file that its exports promise', () => {
    const { exports } = JSON.parse(textOf('package.json'))
    const promised = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry as Record<string, string>),
    )
    expect(promised.filter((path) => !existsSync(join(installed, path)))).toEqual([])
  })

  test('has the command that it promises, in the version that it is', () => {
    const { version } = JSON.parse(textOf('package.json'))
    expect(run(gleaner, '--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('in an empty project', () => {
  test('a JavaScript program enqueues, works and has the result', () => {
    write(
      'roundtrip.js',
      `import { defineTask, openGleaner } from 'gleaner'
       import { z } from 'zod'

       const double = defineTask({
         name: 'double',
         input: z.object({ n: z.number() }),
         run: async ({ n }) => ({ doubled: n * 2 }),
       })
       const gleaner = await openGleaner({ database: 'sqlite:./app.db', tasks: [double] })
       const handle = await gleaner.enqueue(double, { n: 21 })
       const worker = gleaner.work()
       console.log(JSON.stringify(await handle.result({ timeout: '20s' })))
       await worker.stop()
       // In a thread: of a file that nothing else imports.
       console.log((await gleaner.maintenance.backup('copy.db')).path)
       await gleaner.close()`,
    )
    expect(run(process.execPath, 'roundtrip.js')).toEqual({
      status: 0,
      stdout: '{"doubled":42}\ncopy.db\n',
      stderr: '',
    })
  })

  test("a JavaScript test moves the engine's time, with nothing else installed", () => {
    write(
      'moves-time.js',
      `import { defineTask } from 'gleaner'
       import { openTestGleaner } from 'gleaner/testing'

       const ran = []
       const remind = defineTask({ name: 'remind', run: async () => void ran.push(t.now() - startedAt) })
       const t = await openTestGleaner({ tasks: [remind] })
       const startedAt = t.now()
       await t.enqueue(remind, undefined, { runAfter: '1h' })
       await t.advance('1d')
       await t.runUntilIdle()
       console.log(JSON.stringify(ran))
       await t.close()`,
    )
    expect(run(process.execPath, 'moves-time.js')).toEqual({ status: 0, stdout: '[3600000]\n', stderr: '' })
  })

  test('nothing native is installed: without better-sqlite3 the SQLite library is the one of Node', () => {
    const native = readdirSync(join(project, 'node_modules'), { recursive: true, encoding: 'utf8' }).filter(
      (path) => /\.node$|binding\.gyp$/.test(path),
    )
    expect(native).toEqual([])
    write(
      'transactions.js',
      `import { defineTask } from 'gleaner'
       import { openTestGleaner } from 'gleaner/testing'

       const note = defineTask({
         name: 'note',
         run: (text, ctx) => ctx.complete(text, (tx) => tx.prepare('INSERT INTO notes VALUES (?)').run(text)),
       })
       await using t = await openTestGleaner({ tasks: [note], setup: (db) => db.exec('CREATE TABLE notes (text)') })
       const enqueue = t.db.transaction((text) => t.within(t.db).enqueue(note, text))
       const failing = t.db.transaction((text) => {
         enqueue(text)
         throw new Error('undone')
       })
       t.db.transaction(() => {
         enqueue('kept')
         try { failing('inner') } catch {}
       }).immediate()
       try { failing.immediate('outer') } catch {}
       await t.runUntilIdle()
       console.log(JSON.stringify(t.db.prepare('SELECT text FROM notes').all()))`,
    )
    expect(run(process.execPath, 'transactions.js')).toEqual({
      status: 0,
      stdout: '[{"text":"kept"}]\n',
      stderr: '',
    })
  })

  test('the health monitor needs no database', () => {
    write(
      'health.js',
      `import { HealthMonitor } from 'gleaner/health'
       const monitor = new HealthMonitor({ interval: '5s' })
       monitor.register({ getStatus: () => 'healthy' }, 'cache')
       console.log(monitor.status('cache'))`,
    )
    expect(run(process.execPath, 'health.js')).toEqual({ status: 0, stdout: 'healthy\n', stderr: '' })
  })

  test('no tracer is installed; who wants one installs it', () => {
    expect(existsSync(join(project, 'node_modules/@opentelemetry'))).toBe(false)
    write('traced.js', `import 'gleaner/telemetry'`)
    expect(run(process.execPath, 'traced.js')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("Cannot find package '@opentelemetry/api'"),
    })
  })

  test('a CommonJS program can require it', () => {
    write(
      'require.cjs',
      `console.log(typeof require('gleaner').openGleaner, typeof require('gleaner/testing').openTestGleaner)`,
    )
    expect(run(process.execPath, 'require.cjs')).toEqual({
      status: 0,
      stdout: 'function function\n',
      stderr: '',
    })
  })

  test('a TypeScript program has its types, from schema to result', () => {
    write(
      'typed.ts',
      `import { defineTask, openGleaner } from 'gleaner'
       import { z } from 'zod'

       export const double = defineTask({
         name: 'double',
         input: z.object({ n: z.number() }),
         async run(input, ctx) {
           ctx.log.info('doubling', { n: input.n })
           return { doubled: input.n * 2 }
         },
       })
       const gleaner = await openGleaner({ database: 'sqlite:./app.db', tasks: [double] })
       const handle = await gleaner.enqueue(double, { n: 21 }, { priority: 10, runAfter: '5m' })
       const result = await handle.result({ timeout: '1m' })
       export const doubled: number = result.doubled

       // @ts-expect-error: it is a number, and not any
       export const wrong: string = result.doubled
       // @ts-expect-error: the schema asks for a number
       await gleaner.enqueue(double, { n: 'x' })
       // @ts-expect-error: not a duration
       await handle.result({ timeout: 'soon' })`,
    )
    write(
      'typed-test.ts',
      `import type { Gleaner } from 'gleaner'
       import { openTestGleaner, type TestGleaner } from 'gleaner/testing'
       import { double } from './typed.ts'

       const t: TestGleaner = await openTestGleaner({ tasks: [double], now: new Date(), runLimit: 100 })
       export const gleaner: Gleaner = t
       await t.advance('1h')
       const [waiting] = await t.enqueued(double)
       export const n: number | undefined = waiting?.input.n
       t.db.exec('CREATE TABLE notes (text)')
       t.db.transaction(() => t.within(t.db).enqueue(double, { n: 1 })).immediate()
       await t[Symbol.asyncDispose]()

       // @ts-expect-error: it is a number, and not any
       export const wrong: string | undefined = waiting?.input.n
       // @ts-expect-error: it has a database of its own
       await openTestGleaner({ database: 'sqlite:./app.db' })`,
    )
    // Without skipLibCheck: a user who does not set it must not see errors in our types.
    write(
      'tsconfig.json',
      JSON.stringify({
        compilerOptions: {
          target: 'es2023',
          lib: ['es2023'],
          module: 'nodenext',
          types: ['node'],
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: false,
          allowImportingTsExtensions: true,
          noEmit: true,
        },
        files: ['typed.ts', 'typed-test.ts'],
      }),
    )
    const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
    expect(run(process.execPath, tsc, '-p', 'tsconfig.json')).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  test('gleaner init writes a project that gleaner start runs', { timeout: 60_000 }, async () => {
    expect(run(gleaner, 'init', 'begun')).toMatchObject({ status: 0, stderr: '' })
    expect(run(gleaner, 'doctor', '--config', 'begun/gleaner.config.ts')).toMatchObject({
      status: 0,
      stderr: '',
    })
    write(
      'begun/enqueue.ts',
      `import { openGleaner } from 'gleaner'
       import config from './gleaner.config.ts'
       import { hello } from './tasks.ts'

       const gleaner = await openGleaner({ database: 'sqlite:' + import.meta.dirname + '/gleaner.db', tasks: config.tasks })
       const { greeted } = await (await gleaner.enqueue(hello)).result({ timeout: '40s' })
       console.log(typeof greeted)
       await gleaner.close()`,
    )
    const start = spawn(gleaner, ['start'], {
      cwd: join(project, 'begun'),
      env: environment(),
      stdio: 'ignore',
    })
    const ended = once(start, 'exit')
    try {
      expect(run(process.execPath, 'begun/enqueue.ts')).toEqual({ status: 0, stdout: 'string\n', stderr: '' })
      const { stdout } = run(gleaner, 'status', '--config', 'begun/gleaner.config.ts')
      expect(stdout).toMatch(/^worker:main:1 +(starting|running) /m)
    } finally {
      start.kill('SIGTERM')
    }
    expect(await ended).toEqual([0, null])
  })

  // A Node that says it is old is always at hand; real ones also crash in native code, where there are any.
  const pretending = {
    name: 'a Node that says it is 20.0.0',
    command: [process.execPath, '--import', './pretend.js'],
  }
  test.each([pretending, ...oldNodesOnPath().map((path) => ({ name: path, command: [path] }))])(
    '$name is refused with a clear message, before native code crashes',
    ({ command }) => {
      write('pretend.js', `Object.defineProperty(process.versions, 'node', { value: '20.0.0' })`)
      for (const door of ['gleaner', 'gleaner/testing']) {
        write('refused.js', `import * as door from '${door}'\nconsole.log('got in', door)`)
        const { status, stdout, stderr } = run(command[0]!, ...command.slice(1), 'refused.js')
        expect(stderr).toMatch(/Gleaner needs Node\.js 22\.18 or newer; this is 20\./)
        expect(stdout).toBe('')
        // A number: killed by a signal it would be null.
        expect(status).toBe(1)
      }
      const bin = join(installed, JSON.parse(textOf('package.json')).bin.gleaner)
      const { status, stdout, stderr } = run(command[0]!, ...command.slice(1), bin, 'status')
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
      expect(stderr).toMatch(/^Gleaner needs Node\.js 22\.18 or newer; this is 20\.[^\n]*\n$/)
    },
  )
})

function npm(cwd: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8', timeout: 170_000 })
  // Both, because tsc tells what is wrong on stdout.
  if (status !== 0) throw new Error(`npm ${args[0]} failed:\n${stdout}\n${stderr}`)
}

function write(path: string, text: string): void {
  writeFileSync(join(project, path), text)
}

function run(command: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: project,
    env: environment(),
    encoding: 'utf8',
    timeout: 50_000,
  })
  return { status, stdout, stderr }
}

/** What begins with `#!/usr/bin/env node` finds ours first. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }
}

/** From the installed package, not from npm's word for it. */
function packedFiles(): string[] {
  return readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(installed, join(entry.parentPath, entry.name)))
}

const PAGES = ['README.md', 'CHANGELOG.md', 'AGENTS.md', 'llms.txt']

/** To the web, to a file of the package, or to a title of the page itself. */
function leadsSomewhere(page: string, target: string): boolean {
  if (target.startsWith('https://')) return true
  if (target.startsWith('#')) return anchorsOf(textOf(page)).has(target.slice(1))
  return target !== '' && existsSync(join(installed, target.replace(/#.*/, '')))
}

function textOf(path: string): string {
  return readFileSync(join(installed, path), 'utf8')
}

/** Files that this one names, in an import or beside `import.meta.url`, and that are not in the package. */
function missingBeside(path: string): string[] {
  const isThere = (specifier: string) => {
    // `./thread.${extension}`
    const target = join(installed, dirname(path), knownStart(specifier)).replace(/\.$/, '')
    // Declarations keep the names of the sources: TypeScript finds x.d.ts where x.ts is named.
    const candidates = path.endsWith('.d.ts')
      ? [target.replace(/\.[jt]s$/, '.d.ts')]
      : [target, `${target}.js`]
    return candidates.some((candidate) => existsSync(candidate))
  }
  const named = readSource(path, textOf(path)).imports.filter(({ specifier }) => specifier.startsWith('.'))
  return named
    .filter(({ kind, line, specifier }) => {
      // `isSource ? './thread.ts' : './thread.js'` names two, of which one is enough.
      const choices = named.filter((other) => kind === 'path' && other.kind === 'path' && other.line === line)
      return ![specifier, ...choices.map((choice) => choice.specifier)].some(isThere)
    })
    .map(({ specifier, line }) => `${path}:${line} ${specifier}`)
}

function oldNodesOnPath(): string[] {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
  const nodes = folders.map((folder) => join(folder, 'node')).filter((path) => existsSync(path))
  // /bin is often a link to /usr/bin.
  return [...new Set(nodes.map((path) => realpathSync(path)))].filter((path) => {
    const [major = 0, minor = 0] = versionOf(path).split('.').map(Number)
    return major < 22 || (major === 22 && minor < 18)
  })
}

function versionOf(node: string): string {
  return execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
}
