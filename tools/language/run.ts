import { parseArgs } from 'node:util'
import { checkLanguage, describeViolation } from './check.ts'

/**
 * npm run check:language [-- files…]
 *   files   only what is wrong in these
 */
const { positionals } = parseArgs({ allowPositionals: true })
const shown = checkLanguage(`${import.meta.dirname}/../..`).filter(
  ({ file }) =>
    positionals.length === 0 ||
    positionals.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`)),
)
for (const violation of shown) console.error(describeViolation(violation))
if (shown.length > 0) {
  console.error(`\n${shown.length} sentences break a rule of the language.`)
  process.exitCode = 1
} else {
  console.log('Every sentence is plain.')
}
