import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

// npm run build:web. With --if-needed: unless what is built is newer than everything it is made from.
const { values } = parseArgs({ options: { 'if-needed': { type: 'boolean', default: false } } })
const checkout = join(import.meta.dirname, '../..')
const page = join(checkout, 'dist/web/index.html')

if (!values['if-needed'] || isOld()) await build()

function isOld(): boolean {
  if (!existsSync(page)) return true
  const builtAt = statSync(page).mtimeMs
  const sources = readdirSync(join(checkout, 'web'), { recursive: true, withFileTypes: true })
  return [
    ...sources.map((entry) => join(entry.parentPath, entry.name)),
    join(checkout, 'src/exact-json.ts'),
    join(checkout, 'package-lock.json'),
  ].some((path) => existsSync(path) && statSync(path).mtimeMs > builtAt)
}

async function build(): Promise<void> {
  // Installed without what only development needs: then there is nothing to build it with, and no reason to fail.
  const vite = await import('vite').catch(() => null)
  if (vite === null) return console.warn('Vite is not installed: the dashboard is not built.')
  // Whoever runs tests has another one.
  process.env.NODE_ENV = 'production'
  const fresh = join(checkout, `dist/web-${process.pid}`)
  await vite.build({
    configFile: join(checkout, 'web/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: fresh },
  })
  putInPlace(fresh)
}

/** In one step: somebody may be serving it, or building it, too. */
function putInPlace(fresh: string): void {
  const [place, former] = [join(checkout, 'dist/web'), `${fresh}-former`]
  try {
    if (existsSync(place)) renameSync(place, former)
    renameSync(fresh, place)
  } catch (error) {
    if (!existsSync(page)) throw error
  }
  for (const folder of [fresh, former]) rmSync(folder, { recursive: true, force: true })
}
