import '../node-version.ts'
import { enableOwnCompileCache } from './compile-cache.ts'

enableOwnCompileCache()
const { runWorkerProcess } = await import('./worker-process.ts')
await runWorkerProcess()
