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
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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

function bringTogether(): void {
  const parts: Buffer[] = []
  const modules: Record<string, { at: number; bytes: number; edited: number }> = {}
  let at = 0
  for (const name of globSync(['{src,test,examples}/**/*.ts'], { cwd: CHECKOUT })) {
    if (name.endsWith('.test.ts') || name.endsWith('.d.ts')) continue
    const path = join(CHECKOUT, name)
    const edited = statSync(path).mtimeMs
    const part = stripped(path)
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
  const { version } = createRequire(import.meta.url)(`${name}/package.json`)
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
      ssr: fileURLToPath(import.meta.resolve(name)),
      outDir: own,
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'whole.mjs' } },
    },
  })
  renameSync(join(own, 'whole.mjs'), file)
  rmSync(own, { recursive: true })
  writeFileSync(stamp, '')
}
