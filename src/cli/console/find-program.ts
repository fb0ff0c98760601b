import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'

/** Where a pool's program is, as the system would find it; relative paths are seen from the config. */
export function findProgram(name: string, config: string, env: NodeJS.ProcessEnv): string | undefined {
  const candidates = name.includes('/')
    ? [resolve(dirname(config), name)]
    : (env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  return candidates.find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
