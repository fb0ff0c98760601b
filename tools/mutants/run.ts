import { basename } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import { ACCEPTED } from './accepted.ts'
import BUDGETS from './budgets.json' with { type: 'json' }
import { type Candidate, candidates, nameOf, prove } from './prove.ts'

// npm run mutants [-- --only <file> --jobs <n>]
const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, jobs: { type: 'string', default: '2' } },
})
const began = performance.now()
const all = candidates(values.only)
const verdicts = await prove(all, { jobs: Math.max(1, Number(values.jobs) || 1) })
const survivors = verdicts.filter(({ killedBy }) => killedBy === null).map(({ candidate }) => candidate)
const accepted = new Map(Object.entries(ACCEPTED))
const unknown = survivors.filter((one) => !accepted.has(nameOf(one)))

const budgets: Readonly<Record<string, number>> = BUDGETS
let isOver = false
for (const one of unknown) console.log(`${styleText('red', '✗')} ${one.file}:${one.line} ${one.id}`)
for (const [file, count] of countByFile(unknown)) {
  const of = all.filter((one) => one.file === file).length
  // The tests of a module may get better, and never worse.
  const budget = budgets[basename(file, '.ts')] ?? 0
  if (count > budget) isOver = true
  console.log(`${file}: ${count} of ${of} go unnoticed, of ${budget} that may`)
}
const noticed = all.length - survivors.length
const seconds = ((performance.now() - began) / 1_000).toFixed(1)
console.log(
  `${all.length} mutants: ${noticed} noticed (${((100 * noticed) / all.length).toFixed(1)} %), ${survivors.length - unknown.length} accepted, ` +
    `${unknown.length} unnoticed, in ${seconds} s`,
)
process.exitCode = isOver ? 1 : 0

function countByFile(found: readonly Candidate[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { file } of found) counts.set(file, (counts.get(file) ?? 0) + 1)
  return counts
}
