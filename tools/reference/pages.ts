import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../../src/cli/table.ts'
import { ROUTES } from '../../src/http/api.ts'
import { openApi } from '../../src/http/openapi.ts'
import { PICTURES } from '../pictures/pictures.ts'
import { publicEntries } from '../public-api/entries.ts'
import { apiReference } from './api.ts'
import { cliReference } from './cli.ts'
import { configReference } from './config.ts'
import { decisionIndex } from './decisions.ts'
import { pageOf, typescriptReference } from './typescript.ts'

const ROOT = join(import.meta.dirname, '../..')
const DECISIONS = join(ROOT, 'docs/decisions')
const DOORS = publicEntries(ROOT)

/** The pages and pictures that nobody writes by hand. */
export const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/cli.md': () => cliReference(COMMANDS),
  'docs/reference/api.md': () => apiReference(openApi(ROUTES, '/api/v1', '')),
  'docs/reference/config.md': () => configReference(DOORS),
  ...Object.fromEntries(DOORS.map((one) => [pageOf(one.door), () => typescriptReference(one)])),
  'docs/decisions/index.md': () => decisionIndex(decisions()),
  ...PICTURES,
}

function decisions(): { name: string; text: string }[] {
  const names = readdirSync(DECISIONS).filter((name) => /^\d{4}-.+\.md$/.test(name))
  return names.sort().map((name) => ({ name, text: readFileSync(join(DECISIONS, name), 'utf8') }))
}
