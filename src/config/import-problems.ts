import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GleanerError, InputError } from '../errors.ts'
import { asError, describeThrown, isInstanceOf, titleOf } from '../thrown.ts'

type NodeError = Error & { code?: string; url?: string }

/** Why a config, or what it imports, could not be loaded, and what to do about it. */
export function explainImport(file: string, error: unknown): InputError {
  const problem: NodeError = isInstanceOf(error, Error) ? error : asError(error)
  // Thrown by defineTask and its like: it says what is wrong already.
  const hint = problem instanceof GleanerError ? undefined : hintFor(problem, file)
  return new InputError(`${file} could not be loaded: ${wordsOf(problem)}`, {
    code: 'BAD_CONFIG',
    hint,
    cause: error,
  })
}

function hintFor(error: NodeError, file: string): string | undefined {
  switch (error.code) {
    case 'ERR_MODULE_NOT_FOUND':
      return missingModule(error)
    case 'ERR_UNSUPPORTED_DIR_IMPORT':
      return 'A folder cannot be imported. Name the file, for example ./tasks/index.ts.'
    case 'ERR_PACKAGE_PATH_NOT_EXPORTED':
      return 'The package does not export this path. Import a path that its documentation names.'
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
      return (
        'Node only removes types: enums, namespaces with values, parameter properties and `import x = require()` need a compiler. ' +
        'Use `const x = { … } as const` instead of an enum, or build to JavaScript first. ' +
        '`"erasableSyntaxOnly": true` in tsconfig.json finds such places.'
      )
    case 'ERR_INVALID_TYPESCRIPT_SYNTAX':
      return 'The file is not valid TypeScript. Your editor or `npx tsc --noEmit` shows the place.'
    case 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING':
      return 'Node strips no types inside node_modules: import the built JavaScript of that package.'
    case 'ERR_UNKNOWN_FILE_EXTENSION':
      return `Node cannot load such a file. Use .ts, .js or .mjs; Node strips types since 22.18 (this is ${process.versions.node}).`
    case 'ERR_REQUIRE_ESM':
    case 'ERR_REQUIRE_ASYNC_MODULE':
      return 'Use import instead of require, in a module ("type": "module" in package.json, or .mjs).'
    case 'ERR_DLOPEN_FAILED':
      return 'A native module was built for another Node.js. Run `npm rebuild` with the Node.js that runs Gleaner.'
    default:
      return syntaxHint(error, file)
  }
}

/** The most frequent of all: `./tasks.js` is what TypeScript wants to read elsewhere, and Node has only `./tasks.ts`. */
function missingModule(error: NodeError): string {
  const missing = missingPath(error)
  if (missing === undefined) {
    const name = /Cannot find package '([^']+)'/.exec(error.message)?.[1]
    return name === undefined ? 'Check the import.' : `Install it: npm install ${name}.`
  }
  const written = /\.[cm]?js$/.exec(missing)?.[0]
  if (written !== undefined) {
    const source = missing.slice(0, -written.length) + written.replace('js', 'ts')
    if (existsSync(source))
      return `Import ${base(source)} instead: Node runs the TypeScript file itself, under its real name.`
  }
  const found = ['.ts', '.js', '.mjs', '.mts', '/index.ts', '/index.js']
    .map((end) => missing + end)
    .find(existsSync)
  if (found !== undefined) return `Write the full name: ${base(found)} exists, and Node adds no extension.`
  return 'Check the path. A relative path starts at the file that imports it.'

  function base(path: string): string {
    const folder = join(missing!, '..')
    return `.${path.slice(folder.length)}`
  }
}

function missingPath({ url, message }: NodeError): string | undefined {
  if (url?.startsWith('file:')) return fileURLToPath(url)
  const [, path] = /Cannot find module '([^']+)'/.exec(message) ?? []
  return path?.startsWith('/') ? resolve(dirname(path), path) : undefined
}

function syntaxHint(error: NodeError, file: string): string | undefined {
  if (error.name !== 'SyntaxError') return undefined
  const [, name] = /does not provide an export named '?([^' ]+)'?/.exec(error.message) ?? []
  if (name !== undefined)
    return `If ${name} is a type, import it with \`import type\`. Otherwise check the name.`
  if (/Cannot use import statement outside a module|Unexpected token 'export'/.test(error.message))
    return 'Make it a module: set "type": "module" in package.json, or name the file .mjs.'
  return `A file is not valid JavaScript; \`node ${basename(file)}\` shows the place. A file with types must end in .ts.`
}

function wordsOf(error: NodeError): string {
  const thrown = describeThrown(error)
  return error instanceof GleanerError ? thrown.message : titleOf(thrown)
}
