import '../node-version.ts'
import { enableCompileCache } from 'node:module'

// A restart should not take the time to compile everything again.
enableCompileCache()
const { runWorkerProcess } = await import('./worker-process.ts')
await runWorkerProcess()
