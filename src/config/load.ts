import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InputError } from '../errors.ts'
import { checkConfig } from './check.ts'
import { explainImport } from './import-problems.ts'
import { checkOwner } from './owner.ts'
import type { Config } from './types.ts'

const NAMES = ['gleaner.config.ts', 'gleaner.config.js', 'gleaner.config.mjs']

/** Folders above the working directory, at most. */
const PARENTS_MAX = 50

export interface LoadOptions {
  /** Default: the working directory. */
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** True: a config that was found is executed even if another user owns it. One that is named always is. */
  trust?: boolean
}

/** Reads and checks a config: the one at `path`, or the nearest one from the working directory upwards. */
export async function loadConfig(path?: string, options: LoadOptions = {}): Promise<Config> {
  const file = configFile(path, options)
  const exported = await imported(file)
  try {
    return checkConfig(exported, file, options.env ?? process.env)
  } catch (error) {
    throw about(file, error)
  }
}

/** Where the config is, as `loadConfig` finds it. It is not read yet. */
export function configFile(path?: string, options: LoadOptions = {}): string {
  const { cwd = process.cwd(), env = process.env } = options
  const file = path === undefined ? findConfig(cwd) : named(resolve(cwd, path))
  const isTrusted = options.trust === true || env.GLEANER_TRUST_CONFIG === '1'
  if (path === undefined && !isTrusted) checkOwner(file, env)
  return file
}

/** The nearest config, from this folder upwards. */
function findConfig(cwd: string): string {
  let folder = resolve(cwd)
  for (let i = 0; i < PARENTS_MAX; i++) {
    const found = NAMES.map((name) => join(folder, name)).filter((file) => existsSync(file))
    if (found.length > 1) {
      throw new InputError(`there are several configs: ${found.join(', ')}`, {
        code: 'BAD_CONFIG',
        hint: 'Keep one of them, or name one with --config.',
      })
    }
    if (found[0] !== undefined) return found[0]
    if (dirname(folder) === folder) break
    folder = dirname(folder)
  }
  throw new InputError(`there is no ${NAMES.join(', ')} in ${cwd} or above`, {
    code: 'BAD_CONFIG',
    hint: 'Run `gleaner init` to create one, or name it with --config.',
  })
}

function named(file: string): string {
  if (existsSync(file) && statSync(file).isFile()) return file
  throw new InputError(`there is no config ${file}`, {
    code: 'BAD_CONFIG',
    hint: 'Check the path. A relative path starts at the working directory.',
  })
}

async function imported(file: string): Promise<unknown> {
  let module: Record<string, unknown>
  try {
    module = await import(pathToFileURL(file).href)
  } catch (error) {
    throw explainImport(file, error)
  }
  // A config in CommonJS that was compiled from a module has its default inside.
  const exported = module.default as { __esModule?: unknown; default?: unknown } | undefined
  if (exported?.__esModule === true) return exported.default
  if (exported !== undefined) return exported
  const others = Object.keys(module)
  throw new InputError(`${file} has no default export`, {
    code: 'BAD_CONFIG',
    hint:
      others.length === 0
        ? 'Write `export default defineConfig({ … })`.'
        : `It exports ${others.join(', ')}; write \`export default defineConfig({ … })\`.`,
  })
}

/** The same error, with the file it is about. */
function about(file: string, error: unknown): unknown {
  if (!(error instanceof InputError)) return error
  const { message, hint, issues, code } = error
  const what = hint === undefined ? message : message.slice(0, -`. ${hint}`.length)
  return new InputError(`${file}: ${what}`, { code, hint, issues: [...issues], cause: error })
}
