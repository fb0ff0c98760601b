import { chmodSync, chownSync, existsSync, lchownSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { folderWith } from './files.ts'

const NOBODY = 65534

/** A config that says when it was executed. */
function placed(): { folder: string; file: string; wasExecuted: () => boolean } {
  const folder = folderWith({
    'gleaner.config.mjs': `import { writeFileSync } from 'node:fs'
      writeFileSync(new URL('executed', import.meta.url), '')
      export default { database: 'sqlite:./app.db' }`,
  })
  return {
    folder,
    file: join(folder, 'gleaner.config.mjs'),
    wasExecuted: () => existsSync(join(folder, 'executed')),
  }
}

test('a config that every user can write is not executed unless it is named or trusted', async () => {
  const { folder, file, wasExecuted } = placed()
  chmodSync(file, 0o666)
  await expect(loadConfig(undefined, { cwd: folder, env: {} })).rejects.toThrow(
    /is not executed, because every user can write it.*--trust-config/,
  )
  expect(wasExecuted()).toBe(false)
  await loadConfig(file, { cwd: folder, env: {} })
  expect(wasExecuted()).toBe(true)
})

test('a config in a folder that every user can write is not executed', async () => {
  const { folder, wasExecuted } = placed()
  chmodSync(folder, 0o777)
  await expect(loadConfig(undefined, { cwd: folder, env: {} })).rejects.toThrow(
    /because every user can write its folder/,
  )
  expect(wasExecuted()).toBe(false)
  // In a folder like /tmp only the owner of a file can replace it.
  chmodSync(folder, 0o1777)
  await loadConfig(undefined, { cwd: folder, env: {} })
})

test.runIf(process.getuid?.() === 0)(
  'a config of another user is not executed unless it is trusted',
  async () => {
    const { folder, file, wasExecuted } = placed()
    chownSync(file, NOBODY, NOBODY)
    const find = (options: object = {}) => loadConfig(undefined, { cwd: folder, env: {}, ...options })
    await expect(find()).rejects.toThrow(/because it belongs to the user 65534/)
    chownSync(file, 0, 0)
    chownSync(folder, NOBODY, NOBODY)
    await expect(find()).rejects.toThrow(/because its folder belongs to the user 65534/)
    expect(wasExecuted()).toBe(false)
    await find({ env: { SUDO_UID: String(NOBODY) } })
    expect(wasExecuted()).toBe(true)
    await find({ trust: true })
    await find({ env: { GLEANER_TRUST_CONFIG: '1' } })
  },
)

test.runIf(process.getuid?.() === 0)(
  'a link that another user left in a folder like /tmp is not followed, although the file behind it is ours',
  async () => {
    const { file } = placed()
    const shared = folderWith({})
    chmodSync(shared, 0o1777)
    const link = join(shared, 'gleaner.config.mjs')
    symlinkSync(file, link)
    lchownSync(link, NOBODY, NOBODY)
    const find = () => loadConfig(undefined, { cwd: shared, env: {} })
    await expect(find()).rejects.toThrow(/because it belongs to the user 65534/)
    lchownSync(link, 0, 0)
    await find()
  },
)

test('a link of ours to a file in a folder that every user can write is not executed', async () => {
  const { folder, file, wasExecuted } = placed()
  chmodSync(folder, 0o777)
  const ours = folderWith({})
  symlinkSync(file, join(ours, 'gleaner.config.mjs'))
  await expect(loadConfig(undefined, { cwd: ours, env: {} })).rejects.toThrow(
    /every user can write its folder/,
  )
  expect(wasExecuted()).toBe(false)
})
