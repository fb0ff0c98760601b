import { COMMANDS } from '../../src/cli/table.ts'
import { ROUTES } from '../../src/http/api.ts'
import { openApi } from '../../src/http/openapi.ts'
import { apiReference } from './api.ts'
import { cliReference } from './cli.ts'

/** The pages that nobody writes by hand. */
export const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/cli.md': () => cliReference(COMMANDS),
  'docs/reference/api.md': () => apiReference(openApi(ROUTES, '/api/v1', '')),
}
