import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Imports come in bursts: they are reported together. */
const TOGETHER_MS = 20

export interface LoadedFiles {
  /** All files so far. */
  readonly files: readonly string[]
  /** Reports now what would be reported soon. */
  flush(): void
}

/** Reports each file of your own code that this process loads from now on, packages excluded. */
export function reportLoadedFiles(report: (files: readonly string[]) => void): LoadedFiles {
  const files: string[] = []
  let reported = 0
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (reported < files.length) report(files.slice(reported))
    reported = files.length
  }
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      const file = ownFile(resolved.url)
      if (file !== null && !files.includes(file)) {
        files.push(file)
        timer ??= setTimeout(flush, TOGETHER_MS).unref()
      }
      return resolved
    },
  })
  return { files, flush }
}

/** Gleaner's files: in the checkout they are not below node_modules. */
const GLEANER = new URL('..', import.meta.url).href

/** Null: it belongs to Node, to a package or to Gleaner. */
function ownFile(url: string): string | null {
  const isOwn = url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(GLEANER)
  return isOwn ? fileURLToPath(url) : null
}
