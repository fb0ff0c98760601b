import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'

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

export function ownVersions(): Record<string, string> {
  return { gleaner: versionIn(new URL('../package.json', import.meta.url)), node: process.versions.node }
}

export function installedVersions(packages: readonly string[]): Record<string, string> {
  return Object.fromEntries(packages.map((name) => [name, installedVersion(name)]))
}

/** By path: not every package exports its package.json. */
function installedVersion(name: string): string {
  return versionIn(new URL(`./node_modules/${name}/package.json`, import.meta.url))
}

function versionIn(packageJson: URL): string {
  return JSON.parse(readFileSync(packageJson, 'utf8')).version
}
