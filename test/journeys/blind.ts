import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Preloaded: no watch can be opened, as when inotify's limit is reached. */
fs.watch = () => {
  throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), {
    code: 'ENOSPC',
  })
}
syncBuiltinESMExports()
