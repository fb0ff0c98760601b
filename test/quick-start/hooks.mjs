import { existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'

/**
 * Preloaded into the children of the tests: their modules come from one file, without types, instead of being looked for, read and
 * stripped one by one. That halves the start of a process. A module that was edited since is read as ever. (JavaScript, because
 * this file itself would have to be stripped.)
 */
const FOLDER = new URL('../../node_modules/.cache/gleaner-tests/', import.meta.url)
/** Has 95 modules, which nothing but the programs of tests loads in a child. */
const ZOD = new URL('zod.mjs', FOLDER)

/** @type {Record<string, { at: number, bytes: number, edited: number }>} by path */
let modules = {}
let file = -1
try {
  file = openSync(new URL('modules', FOLDER))
  // The list stands at the end, and its length in the last eight bytes.
  const { size } = fstatSync(file)
  const listBytes = Number(text(size - 8, 8))
  modules = JSON.parse(text(size - 8 - listBytes, listBytes))
} catch {
  // Nothing was prepared, or it may not be read: the children start as ever.
}

const hasZod = existsSync(ZOD)

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'zod' && hasZod) return { url: ZOD.href, format: 'module', shortCircuit: true }
    if (specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.startsWith('file:')) {
      const url = new URL(specifier, context.parentURL)
      if (modules[url.pathname] !== undefined)
        return { url: url.href, format: 'module-typescript', shortCircuit: true }
    }
    return next(specifier, context)
  },
  load(url, context, next) {
    const path = url.startsWith('file:///') ? url.slice(7) : ''
    const module = modules[path]
    if (module === undefined || statSync(path).mtimeMs !== module.edited) return next(url, context)
    return { format: 'module', source: text(module.at, module.bytes), shortCircuit: true }
  },
})

/** @param {number} at @param {number} bytes */
function text(at, bytes) {
  const buffer = Buffer.allocUnsafe(bytes)
  readSync(file, buffer, 0, bytes, at)
  return buffer.toString()
}
