#!/usr/bin/env node
// Nothing else before the version is known: an old Node would crash in native code, or not even read ours.
import { isTooOld } from './old-node.ts'

if (!(await isTooOld())) {
  const { main } = await import('./main.ts')
  const { processTerminal } = await import('./terminal.ts')
  process.exitCode = await main(process.argv.slice(2), processTerminal())
}
