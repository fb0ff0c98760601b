import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openGleaner, restoreBackup } from '../../src/index.ts'
import { plain } from '../http/server.ts'

test('only its owner can read a new database; a backup and what is restored keep the mode', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-modes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const umask = process.umask(0o022)
  onTestFinished(() => void process.umask(umask))
  const file = (name: string) => join(folder, name)
  const mode = (name: string) => (statSync(file(name)).mode & 0o777).toString(8)

  const gleaner = await openGleaner({ database: `sqlite:${file('app.db')}`, tasks: [plain] })
  await gleaner.enqueue(plain)
  expect([mode('app.db'), mode('app.db-wal'), mode('app.db-shm')]).toEqual(['600', '600', '600'])
  await gleaner.maintenance.backup(file('private.backup'))
  expect(mode('private.backup')).toBe('600')
  chmodSync(file('app.db'), 0o660)
  await gleaner.maintenance.backup(file('shared.backup'))
  expect(mode('shared.backup')).toBe('660')
  await gleaner.close()

  await restoreBackup(file('private.backup'), { database: `sqlite:${file('private.db')}` })
  await restoreBackup(file('shared.backup'), { database: `sqlite:${file('shared.db')}` })
  expect([mode('private.db'), mode('shared.db')]).toEqual(['600', '660'])
})

test('only its owner can read a new database that a symbolic link leads to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-modes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [link, next, circle] = [join(folder, 'app.db'), join(folder, 'next.db'), join(folder, 'circle.db')]
  symlinkSync('next.db', link)
  symlinkSync(join(folder, 'volume.db'), next)
  const gleaner = await openGleaner({ database: `sqlite:${link}`, tasks: [plain] })
  await gleaner.close()
  expect((statSync(join(folder, 'volume.db')).mode & 0o777).toString(8)).toBe('600')
  symlinkSync(circle, circle)
  await expect(openGleaner({ database: `sqlite:${circle}`, tasks: [plain] })).rejects.toThrow(
    /unable to open/,
  )
})
