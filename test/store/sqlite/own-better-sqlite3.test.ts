import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { trustedPackage } from '../../../src/store/sqlite/drivers/own-better-sqlite3.ts'
import { freshPath } from './folder.ts'

const NOBODY = 65534

/** A folder above a project, as `/tmp` is above projects in it, in which a package was left. */
function above(): { folder: string; path: string } {
  const folder = join(dirname(freshPath()), 'node_modules')
  const path = join(folder, 'better-sqlite3')
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'index.js'), '')
  return { folder, path }
}

test('the nearest better-sqlite3 is used, and none is an answer', () => {
  const [nearest, other] = [above(), above()]
  expect(trustedPackage(['/nowhere', nearest.folder, other.folder])).toBe(nearest.path)
  expect(trustedPackage(['/nowhere'])).toBe(null)
})

test('a better-sqlite3 that every user can write, or replace, is not executed', () => {
  const { folder, path } = above()
  chmodSync(path, 0o777)
  expect(trustedPackage([folder])).toBe(null)
  chmodSync(path, 0o755)
  chmodSync(folder, 0o777)
  expect(trustedPackage([folder])).toBe(null)
})

test.runIf(process.getuid?.() === 0)('a better-sqlite3 that another user left above is not executed', () => {
  const { folder, path } = above()
  chownSync(path, NOBODY, NOBODY)
  expect(trustedPackage([folder])).toBe(null)
  chownSync(path, 0, 0)
  chownSync(folder, NOBODY, NOBODY)
  expect(trustedPackage([folder])).toBe(null)
  chownSync(folder, 0, 0)
  const link = join(dirname(folder), 'linked')
  mkdirSync(link)
  symlinkSync(path, join(link, 'better-sqlite3'))
  expect(trustedPackage([link])).toBe(join(link, 'better-sqlite3'))
  lchownSync(join(link, 'better-sqlite3'), NOBODY, NOBODY)
  expect(trustedPackage([link])).toBe(null)
})
