import { parseArgs } from 'node:util'
import { checkLanguage, describeViolation } from './check.ts'
import { prunePending, readPending } from './pending.ts'

/**
 * npm run check:language [-- files…]
 *   files      everything that is wrong in these, pending or not
 *   --pending  everything that is wrong in files that are still pending
 *   --prune    takes files without a violation off the list
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { pending: { type: 'boolean' }, prune: { type: 'boolean' } },
})
const root = `${import.meta.dirname}/../..`
const all = checkLanguage(root)
const unclean = new Set(all.map(({ file }) => file))
if (values.prune) prunePending(unclean)
const pending = readPending()

const shown = all.filter(({ file }) =>
  positionals.length > 0
    ? positionals.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`))
    : pending.has(file) === (values.pending ?? false),
)
for (const violation of shown) console.error(describeViolation(violation))
const clean = [...pending].filter((file) => !unclean.has(file))
for (const file of clean)
  console.error(`${file}  is clean: take it off the list with npm run check:language -- --prune`)

if (shown.length + clean.length > 0) {
  console.error(`\n${shown.length} sentences break a rule of the language.`)
  process.exitCode = 1
} else {
  console.log(
    `Every sentence is plain.${pending.size > 0 ? ` ${pending.size} files are still to be rewritten.` : ''}`,
  )
}
