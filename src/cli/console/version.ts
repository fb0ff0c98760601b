import { readFileSync } from 'node:fs'

/** Of the package that this file is in: two folders up, as source and as build. */
export function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
