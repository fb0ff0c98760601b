import { parseArgs } from 'node:util'
import { checkArchitecture, describeViolation } from './check.ts'

// npm run check:architecture [-- folder]
const { positionals } = parseArgs({ allowPositionals: true })
const violations = checkArchitecture(positionals[0] ?? `${import.meta.dirname}/../..`)

for (const violation of violations) console.error(describeViolation(violation))
if (violations.length > 0) {
  console.error(`\n${violations.length} violation${violations.length === 1 ? '' : 's'} of the house rules.`)
  process.exitCode = 1
} else {
  console.log('The house is in order.')
}
