import { existsSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** Preloaded: the first keeper of the process breaks, once it is at work. `GLEANER_FLAG` says whether one has. */
const flag = process.env.GLEANER_FLAG!
if (!isMainThread && !existsSync(flag)) {
  setTimeout(() => {
    writeFileSync(flag, '')
    throw new Error('the keeper broke')
  }, 300)
}
