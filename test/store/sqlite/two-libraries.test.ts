import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { canUnshare, WITHOUT_PROC } from '../../namespaces.ts'
import { freshPath } from './folder.ts'
import { copyOfLibrary } from './library-copy.ts'

/** Only Linux lets a process see what it has open. */
const onLinux = test.skipIf(process.platform !== 'linux')

async function play(
  scene: string,
  { copy = '', command = [] }: { copy?: string; command?: string[] } = {},
): Promise<Record<string, unknown>> {
  const program = fileURLToPath(import.meta.resolve('./children/two-libraries.ts'))
  const [first, ...rest] = [...command, process.execPath, program, scene, dirname(freshPath()), copy]
  const { stdout } = await promisify(execFile)(first!, rest)
  return JSON.parse(stdout)
}

onLinux('another copy of better-sqlite3 on the same file is refused before anything is written', async () => {
  expect(await play('copy', { copy: copyOfLibrary() })).toEqual({
    withinOwn: 'done',
    withinOther: 'TWO_SQLITES',
    opened: 'TWO_SQLITES',
    tables: ['notes'],
    connected: 'done',
  })
})

onLinux(
  'restoring, copying and diagnosing refuse another library on a file that is not open here',
  async () => {
    expect(await play('closed', { copy: copyOfLibrary() })).toEqual({
      restored: 'TWO_SQLITES',
      restoredWithIt: 'STORE_IN_USE',
      copied: 'TWO_SQLITES',
      copiedWithIt: 'STORE_AWAY',
      diagnosed: 'TWO_SQLITES',
      verified: 'TWO_SQLITES',
      again: 'done',
    })
  },
)

onLinux(
  'node:sqlite beside better-sqlite3 on the same file is refused: at open, within, and while running',
  async () => {
    expect(await play('node')).toEqual({
      enqueued: 'done',
      within: 'TWO_SQLITES',
      running: 'TWO_SQLITES',
      reading: 'TWO_SQLITES',
      closed: 'done',
      opened: 'TWO_SQLITES',
      connected: 'done',
      beside: 'done',
      again: 'done',
    })
  },
)

test.runIf(canUnshare())(
  'where a process cannot see what it has open, SQLite works all the same',
  async () => {
    expect(await play('alone', { command: WITHOUT_PROC })).toEqual({
      within: 'done',
      enqueued: 'done',
      closed: 'done',
    })
  },
)
