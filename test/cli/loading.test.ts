import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownCacheFolder } from '../../src/process/compile-cache.ts'

const CHECKOUT = join(import.meta.dirname, '../..')
const BIN = join(CHECKOUT, 'src/cli/bin.ts')

/** Preloaded: tells at the end which modules were loaded, and from where Node takes compiled code. */
const TELL = `data:text/javascript,${encodeURIComponent(`
  import { getCompileCacheDir, registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  process.on('exit', () => console.error(JSON.stringify({ loaded, cache: getCompileCacheDir() ?? null })))
`)}`

test('a short command loads no server, no supervisor and no logger, and keeps what it compiled', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-loading-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'gleaner.config.mjs'), "export default { database: 'sqlite:./app.db' }\n")
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--import', TELL, BIN, ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...env, NODE_OPTIONS: '' },
    })
  run('migrate')
  const { status, stderr, stdout } = run('status')
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('no workers') })
  const told = JSON.parse(stderr.trim().split('\n').at(-1)!) as { loaded: string[]; cache: string | null }
  const unneeded = [
    '/node_modules/zod/',
    '/node_modules/hono/',
    '/node_modules/pino/',
    '/src/supervisor/supervisor.ts',
  ]
  expect(told.loaded.filter((url) => unneeded.some((part) => url.includes(part)))).toEqual([])
  expect(told.loaded.length).toBeGreaterThan(100)
  // Where a machine has a home of our own. Another folder would be executed by us, and written by others.
  const own = ownCacheFolder(userInfo().homedir)
  expect(told.cache === null).toBe(own === null)
  if (own !== null) expect(told.cache).toContain(own)
})
