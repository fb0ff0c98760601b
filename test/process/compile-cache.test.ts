import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownCacheFolder } from '../../src/process/compile-cache.ts'
import { checkout } from '../config/files.ts'

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-home-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test('compiled code is kept in a folder that only our user can write', () => {
  const folder = ownCacheFolder(home())!
  expect(lstatSync(folder).mode & 0o777).toBe(0o700)
  expect(lstatSync(folder).uid).toBe(process.getuid!())
})

test('a folder of the cache that others can write is not used', () => {
  const place = home()
  mkdirSync(join(place, '.cache', 'gleaner'), { recursive: true })
  chmodSync(join(place, '.cache', 'gleaner'), 0o777)
  expect(ownCacheFolder(place)).toBe(null)
  chmodSync(join(place, '.cache', 'gleaner'), 0o755)
  chmodSync(join(place, '.cache'), 0o777)
  expect(ownCacheFolder(place)).toBe(null)
})

test('a symbolic link in place of the cache is not followed', () => {
  const [place, elsewhere] = [home(), home()]
  mkdirSync(join(place, '.cache'))
  symlinkSync(elsewhere, join(place, '.cache', 'gleaner'))
  expect(ownCacheFolder(place)).toBe(null)
})

test.runIf(process.getuid?.() === 0)('a folder of another user is not used', () => {
  const place = home()
  mkdirSync(join(place, '.cache', 'gleaner'), { recursive: true })
  chownSync(join(place, '.cache', 'gleaner'), 65534, 65534)
  expect(ownCacheFolder(place)).toBe(null)
})

test('a home that cannot be written costs the cache and nothing else', () => {
  expect(ownCacheFolder('/proc/nowhere')).toBe(null)
  expect(ownCacheFolder(null)).toBe(null)
  expect(existsSync('/proc/nowhere')).toBe(false)
})

test('a worker process keeps no compiled code in the shared temporary directory', () => {
  const shared = home()
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const main = join(checkout, 'src/process/main.ts')
  const { status } = spawnSync(process.execPath, [main], {
    env: { ...env, TMPDIR: shared, NODE_OPTIONS: '' },
  })
  // It has no supervisor, so it does nothing; but it has loaded its code.
  expect(status).not.toBe(null)
  expect(readdirSync(shared)).toEqual([])
})
