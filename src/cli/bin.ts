#!/usr/bin/env node
// Nothing else before the version is known: an old Node would crash in native code, or not even read ours.
import { isTooOld } from './old-node.ts'

/** They go on until they are told to stop, and what they print is a log. */
const LOGGING = ['dev', 'start', 'work']
const LAST_LINES_MS = 1_000

if (!(await isTooOld())) {
  const { enableOwnCompileCache } = await import('../process/compile-cache.ts')
  // Two thirds of the time of a short command are the compiling of what it loads.
  enableOwnCompileCache()
  const { main } = await import('./main.ts')
  const { processTerminal } = await import('./console/terminal.ts')
  const args = process.argv.slice(2)
  process.exitCode = await main(args, processTerminal())
  // Lines that nobody reads would keep the process for ever. A list that somebody pages through is waited for.
  if (LOGGING.includes(args[0] ?? '')) setTimeout(() => process.exit(), LAST_LINES_MS).unref()
}
