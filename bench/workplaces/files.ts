import { copyFile, mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { installedVersions } from '../machine.ts'
import type { Stage } from '../processes.ts'
import { fillPlace, stockroom } from './stockroom.ts'
import type { Grounds, Place } from './workplace.ts'

const PEERS = ['plainjob', 'liteque', 'sidequest', '@sidequest/sqlite-backend', 'better-sqlite3']

/** A fresh file for every measurement; filled ones are copied. */
export async function openFiles(home: string, stage: Stage): Promise<Grounds> {
  const sourceOf = stockroom(async (stock) => {
    const file = join(await mkdtemp(join(home, 'stock-')), 'queue.db')
    await fillPlace(stage, stock, file)
    return file
  })

  return {
    facts: { versions: { SQLite: sqliteVersion(), ...installedVersions(PEERS) } },
    fresh: () => newFile(home),
    async stocked(stock) {
      const source = await sourceOf(stock)
      const place = await newFile(home)
      await copyToDisk(source, place.address)
      return place
    },
    async close() {},
  }
}

async function newFile(home: string): Promise<Place> {
  const directory = await mkdtemp(join(home, 'm-'))
  return {
    address: join(directory, 'queue.db'),
    serverMs: () => 0,
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/** Synced before the measurement begins, or the disk would still be busy with the copy during it. */
async function copyToDisk(source: string, target: string): Promise<void> {
  await copyFile(source, target)
  const file = await open(target, 'r+')
  await file.sync()
  await file.close()
}

function sqliteVersion(): string {
  const db = new Database(':memory:')
  const { version } = db.prepare<[], { version: string }>('SELECT sqlite_version() AS version').get()!
  db.close()
  return version
}
