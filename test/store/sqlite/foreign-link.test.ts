import { chmodSync, existsSync, lchownSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { openGleaner, restoreBackup } from '../../../src/index.ts'
import { freshPath } from './folder.ts'

const NOBODY = 65534

test.runIf(process.getuid?.() === 0)(
  'a link that another user left in place of a database, in a folder like /tmp, is not followed',
  async () => {
    const target = freshPath()
    const shared = join(dirname(target), 'shared')
    mkdirSync(shared)
    chmodSync(shared, 0o1777)
    const link = join(shared, 'app.db')
    symlinkSync(target, link)
    lchownSync(link, NOBODY, NOBODY)
    const refused = { code: 'BAD_CONFIG', message: expect.stringContaining('a link of the user 65534') }
    await expect(openGleaner({ database: `sqlite:${link}` })).rejects.toMatchObject(refused)
    expect(existsSync(target)).toBe(false)

    const gleaner = await openGleaner({ database: `sqlite:${freshPath()}` })
    const { path } = await gleaner.maintenance.backup(`${target}.backup`)
    await gleaner.close()
    await expect(restoreBackup(path, { database: `sqlite:${link}` })).rejects.toMatchObject(refused)
    expect(existsSync(target)).toBe(false)

    lchownSync(link, 0, 0)
    await (await openGleaner({ database: `sqlite:${link}` })).close()
    expect(existsSync(target)).toBe(true)
  },
)
