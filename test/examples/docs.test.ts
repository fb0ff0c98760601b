import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openGleaner } from '../../src/index.ts'
import { decodeMessage } from '../../src/process/foreign-protocol.ts'
import { decodeFrame } from '../../src/process/frame.ts'
import { type Block, blocksOf, pages } from './docs.ts'
import { checkout, ended, run, start } from './run-example.ts'

const scratch = mkdtempSync(join(tmpdir(), 'gleaner-docs-test-'))
const all = pages().flatMap((page) => blocksOf(checkout, page))
const named = (blocks: readonly Block[]) =>
  blocks.map((block) => [`${block.page}:${block.line}`, block] as const)
const written = all.filter(({ language }) => language === 'ts')

beforeAll(() => {
  symlinkSync(join(checkout, 'node_modules'), join(scratch, 'node_modules'))
  writeFileSync(join(scratch, 'package.json'), '{ "type": "module" }')
  for (const block of written) writeFileSync(join(scratch, fileOf(block)), program(block))
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('the code in the documentation', () => {
  test('is found', () => {
    expect(written.filter(({ mark }) => mark === 'run').length).toBeGreaterThan(5)
    expect(written.map(({ mark }) => mark).filter((mark) => !['', 'run'].includes(mark))).toEqual([])
  })

  test('has no errors of type', async () => {
    writeFileSync(
      join(scratch, 'tsconfig.json'),
      JSON.stringify({
        extends: join(checkout, 'tsconfig.json'),
        compilerOptions: {
          noUnusedLocals: false,
          noUnusedParameters: false,
          typeRoots: [join(checkout, 'node_modules/@types')],
        },
        include: ['*.ts'],
      }),
    )
    const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
    expect(await ended(start(process.execPath, [tsc, '-p', scratch]))).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    })
  })

  test.concurrent.for(named(written.filter(({ mark }) => mark === 'run')))('%s runs', async ([, block]) => {
    const { status, stdout, stderr } = await run(join(scratch, fileOf(block)), {
      cwd: mkdtempSync(join(scratch, 'cwd-')),
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    if (block.next?.mark === 'output') expect(stdout).toBe(block.next.code)
  })
})

describe('the Python in the documentation', () => {
  const python = all.filter(({ language }) => language === 'python')

  test('answers a task and stops', () => {
    const file = join(scratch, 'worker.py')
    writeFileSync(file, python[0]!.code)
    const run = { type: 'run', id: '1', name: 'text.count', input: { text: 'a b a' } }
    const lines = [run, { type: 'stop' }].map((message) => `TASK|${JSON.stringify(message)}\n`)
    const { status, stdout, stderr } = spawnSync('python3', [file], {
      input: lines.join(''),
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(decodeMessage(stdout.trim())).toEqual({ type: 'done', id: '1', result: { a: 2, b: 1 } })
  })

  test('writes a health frame', () => {
    const { status, stderr, output } = spawnSync('python3', ['-c', python[1]!.code], {
      env: { ...process.env, GLEANER_COMPONENT_ID: 'worker:python:0' },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(decodeFrame(output[3]!.trim())).toMatchObject({ componentId: 'worker:python:0', phase: 'idle' })
  })
})

describe('the SQL in the documentation', () => {
  let db: Database.Database

  beforeAll(async () => {
    const file = join(scratch, 'app.db')
    const gleaner = await openGleaner({ database: `sqlite:${file}` })
    await gleaner.close()
    db = new Database(file, { readonly: true })
  })
  afterAll(() => db.close())

  test.for(named(all.filter(({ language }) => language === 'sql')))(
    '%s has the columns it shows',
    ([, block]) => {
      const columns = db
        .prepare(block.code)
        .columns()
        .map(({ name }) => name)
      expect(block.next?.mark).toBe('output')
      expect(block.next?.code.split('\n')[0]?.trim().split(/ +/)).toEqual(columns)
    },
  )
})

// npm 11 writes "type": "commonjs", and then Node refuses `import` in a .ts file.
test('a page that begins with npm init makes a package of modules, or names its programs .mts', () => {
  const begun = pages().filter((page) => readFileSync(join(checkout, page), 'utf8').includes('npm init -y'))
  expect(begun.length).toBeGreaterThan(1)
  const failing = begun.filter((page) => {
    const text = readFileSync(join(checkout, page), 'utf8')
    const isModule = text.includes('npm pkg set type=module')
    return !isModule && blocksOf(checkout, page).some(({ code }) => /^\/\/ \S+\.ts\n/.test(code))
  })
  expect(failing).toEqual([])
})

test('no page names the machine it was written on', () => {
  const telling = pages().filter((page) => {
    const text = readFileSync(join(checkout, page), 'utf8')
    return [checkout, '/root/', '/home/', '/tmp/'].some((path) => text.includes(path))
  })
  expect(telling).toEqual([])
})

test("the README's test command is what CI runs", () => {
  const readme = readFileSync(join(checkout, 'README.md'), 'utf8')
  const lines = readFileSync(join(checkout, '.ci/run'), 'utf8').trim().split('\n')
  expect(lines.at(-1)).toBe('npm ci && npm test')
  expect(readme).toContain('\nnpm ci && npm test\n')
  expect(readme).toContain('\nnpm ci && npm start\n')
})

function fileOf({ page, line }: Block): string {
  return `${page.replaceAll(/\W/g, '-')}-${line}.ts`
}

/** In the documentation the package has its name, here it is the source. */
function program({ given, mark, code }: Block): string {
  const text = mark === 'run' ? code : `${given}\n${code}\nexport {}\n`
  return text
    .replaceAll("from 'gleaner'", `from '${join(checkout, 'src/index.ts')}'`)
    .replaceAll("from 'gleaner/testing'", `from '${join(checkout, 'src/testing/index.ts')}'`)
    .replaceAll("from 'gleaner/http'", `from '${join(checkout, 'src/http/index.ts')}'`)
    .replaceAll("from 'gleaner/health'", `from '${join(checkout, 'src/health/index.ts')}'`)
    .replaceAll("from 'gleaner/supervisor'", `from '${join(checkout, 'src/supervisor/index.ts')}'`)
    .replaceAll("from 'gleaner/telemetry'", `from '${join(checkout, 'src/telemetry/index.ts')}'`)
}
