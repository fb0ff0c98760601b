import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'vite'
import { SINGLE_FILES } from './environment.ts'

const CHECKOUT = join(import.meta.dirname, '../..')
const FOLDER = join(CHECKOUT, 'node_modules/.cache/gleaner-tests')

/** Brings the modules that children load into one file, and a package of many modules into another; see `hooks.mjs`. */
export default async function prepareQuickStart(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  for (const name of SINGLE_FILES) await bundle(name)
  bringTogether()
}

type Modules = Record<string, { at: number; bytes: number; edited: number }>

function bringTogether(): void {
  const before = broughtBefore()
  const parts: Buffer[] = []
  const modules: Modules = {}
  let at = 0
  for (const name of globSync(['{src,test,examples}/**/*.ts'], { cwd: CHECKOUT })) {
    if (name.endsWith('.test.ts') || name.endsWith('.d.ts')) continue
    const path = join(CHECKOUT, name)
    const edited = statSync(path).mtimeMs
    const part = before(path, edited) ?? stripped(path)
    if (part === undefined) continue
    modules[path] = { at, bytes: part.length, edited }
    parts.push(part)
    at += part.length
  }
  const list = Buffer.from(JSON.stringify(modules))
  const own = join(FOLDER, `modules-${process.pid}`)
  writeFileSync(own, Buffer.concat([...parts, list, Buffer.from(String(list.length).padStart(8))]))
  renameSync(own, join(FOLDER, 'modules'))
}

/** What an earlier run brought there, of modules that were not edited since. */
function broughtBefore(): (path: string, edited: number) => Buffer | undefined {
  try {
    const whole = readFileSync(join(FOLDER, 'modules'))
    const listBytes = Number(whole.subarray(-8).toString())
    const modules: Modules = JSON.parse(whole.subarray(-8 - listBytes, -8).toString())
    return (path, edited) => {
      const module = modules[path]
      return module?.edited === edited ? whole.subarray(module.at, module.at + module.bytes) : undefined
    }
  } catch {
    return () => undefined
  }
}

/** As Node does it: the name is how stacks call the module. Undefined if Node cannot load it: it is a part of a test. */
function stripped(path: string): Buffer | undefined {
  try {
    const source = readFileSync(path, 'utf8')
    return Buffer.from(stripTypeScriptTypes(source, { mode: 'strip', sourceUrl: path }))
  } catch {
    return undefined
  }
}

async function bundle(name: string): Promise<void> {
  const require = createRequire(import.meta.url)
  // The test runner has no `import.meta.resolve`, and `require` would find the other format.
  const { version, module } = require(`${name}/package.json`)
  const [file, stamp] = [join(FOLDER, `${name}.mjs`), join(FOLDER, `${name}-${version}`)]
  if (existsSync(file) && existsSync(stamp)) return
  const own = join(FOLDER, `${name}-${process.pid}`)
  await build({
    configFile: false,
    logLevel: 'error',
    root: CHECKOUT,
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: join(dirname(require.resolve(`${name}/package.json`)), module),
      outDir: own,
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'whole.mjs' } },
    },
  })
  renameSync(join(own, 'whole.mjs'), file)
  rmSync(own, { recursive: true })
  writeFileSync(stamp, '')
}
