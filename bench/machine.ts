import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'

export interface Machine {
  processor: string
  cores: number
  memoryGb: number
  kernel: string
  filesystem: string
  /** Of the minute before the start: above about 0.5, somebody else was working too. */
  loadBefore: number
}

const HERE = fileURLToPath(new URL('.', import.meta.url))
const FILESYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  2035054128: 'overlayfs',
  26: 'apfs',
}
const PEERS = ['plainjob', 'liteque', 'sidequest', '@sidequest/sqlite-backend', 'better-sqlite3']

export function describeMachine(): Machine {
  const filesystem = statfsSync(HERE).type
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    filesystem: FILESYSTEMS[filesystem] ?? `0x${filesystem.toString(16)}`,
    loadBefore: loadavg()[0]!,
  }
}

export function describeVersions(): Record<string, string> {
  const db = new Database(':memory:')
  const sqlite = db.prepare<[], { version: string }>('SELECT sqlite_version() AS version').get()!.version
  db.close()
  return {
    gleaner: versionIn(new URL('../package.json', import.meta.url)),
    node: process.versions.node,
    SQLite: sqlite,
    ...Object.fromEntries(PEERS.map((name) => [name, installedVersion(name)])),
  }
}

/** By path: not every package exports its package.json. */
function installedVersion(name: string): string {
  return versionIn(new URL(`./node_modules/${name}/package.json`, import.meta.url))
}

function versionIn(packageJson: URL): string {
  return JSON.parse(readFileSync(packageJson, 'utf8')).version
}
