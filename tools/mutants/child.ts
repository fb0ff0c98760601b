import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from './fake-vitest.ts'
import type { Answer, Order } from './orders.ts'

/**
 * Runs tests with one mutant after the other in place. Each time the mutated module is loaded anew, and what depends on it: the
 * number of the run stands in their addresses.
 */
const FAKE = new URL('./fake-vitest.ts', import.meta.url).href
const sources = new Map<string, string>()
let order: Order | undefined

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'vitest') return { url: FAKE, format: 'module-typescript', shortCircuit: true }
    const resolved = next(specifier, context)
    if (order === undefined || !resolved.url.startsWith('file:')) return resolved
    const path = fileURLToPath(resolved.url.split('?')[0]!)
    return order.anew.includes(path)
      ? { ...resolved, url: `${pathToFileURL(path)}?run=${order.run}` }
      : resolved
  },
  load(url, context, next) {
    const [address, run] = url.split('?')
    if (run === undefined || order === undefined) return next(url, context)
    const path = fileURLToPath(address!)
    const { file, mutated } = order
    if (path === file && mutated !== undefined)
      return { format: 'module', source: stripped(mutated), shortCircuit: true }
    const source = sources.get(path) ?? stripped(readFileSync(path, 'utf8'))
    sources.set(path, source)
    return { format: 'module', source, shortCircuit: true }
  },
})

process.on('message', async (sent: Order) => {
  order = sent
  process.send!({ run: sent.run, failure: await failureOf(sent) } satisfies Answer)
})

/** Of the first test that fails. */
async function failureOf({ run, tests: files }: Order): Promise<string | null> {
  const { tests, clearing } = (await import(FAKE)) as { tests: Test[]; clearing: (() => unknown)[] }
  for (const { file, groups } of files) {
    tests.length = 0
    try {
      await import(`${pathToFileURL(file)}?run=${run}`)
    } catch (error) {
      return `does not load: ${gist(error)}`
    }
    for (const test of tests.filter(
      (one) => groups === undefined || one.groups.some((name) => groups.includes(name)),
    )) {
      try {
        await test.run()
      } catch (error) {
        return `${test.title}: ${gist(error)}`
      } finally {
        for (const clear of clearing.splice(0).reverse()) await clear()
      }
    }
  }
  return null
}

function gist(error: unknown): string {
  return String((error as Error)?.message ?? error)
    .split('\n')[0]!
    .slice(0, 120)
}

function stripped(code: string): string {
  return stripTypeScriptTypes(code)
}

// A promise that nobody awaits is none of the test's.
process.on('unhandledRejection', () => {})
