import '../../node-version.ts'
import { enableOwnCompileCache } from '../../process/compile-cache.ts'
import { reportLoadedFiles } from '../../process/loaded-files.ts'
import type { FromVersion } from './messages.ts'

enableOwnCompileCache()
const loaded = reportLoadedFiles((files) => {
  if (process.connected) process.send?.({ kind: 'loaded', files } satisfies FromVersion)
})
const { runVersion } = await import('./run-version.ts')
await runVersion(loaded)
