// npm run bench [-- [suite] [--quick] [--only <scenario>] [--rounds <n>] [--contenders <a,b>] [--report]]
import { parseArgs } from 'node:util'
import { type ContenderName, labelOf } from './contenders/contender.ts'
import { describeMachine, ownVersions } from './machine.ts'
import { measureScenario } from './measure.ts'
import { measuredText, writeReport } from './report.ts'
import { loadResults, type Results, type ScenarioResult, saveResults } from './results.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { suite as durable } from './suites/durable/index.ts'
import { suite as postgres } from './suites/postgres/index.ts'
import { suite as realistic } from './suites/realistic/index.ts'
import { suite as scaling } from './suites/scaling/index.ts'
import { suite as sqlite } from './suites/sqlite/index.ts'
import type { Suite } from './suites/suite.ts'

const SUITES: readonly Suite[] = [sqlite, postgres, realistic, scaling, durable]
const ROUNDS_DEFAULT = 5

const HELP = `npm run bench -- [suite] [options]

  suite                  ${SUITES.map(({ name }) => name).join(' | ')} (default: sqlite)
  --quick                tiny sizes, one round: shows that every scenario runs, judges and saves nothing
  --only <scenario>      one scenario; saves nothing
  --rounds <n>           default ${ROUNDS_DEFAULT}
  --contenders <a,b>     some of those in the report; saves nothing
  --sqlite <library>     what Gleaner opens SQLite with: better-sqlite3 (default) or node:sqlite; saves nothing
  --report               write docs/benchmarks.md again from the saved results

Exit code: 0 all required targets reached, 1 one missed or a measurement failed, 2 wrong usage.`

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const choice = readChoice(args)
  if ('problem' in choice) {
    console.error(`${choice.problem}\n\n${HELP}`)
    return 2
  }
  if (choice.reportOnly) return reportSaved()

  const { scenarios } = choice.suite
  const chosen = scenarios.filter(({ id }) => choice.only === undefined || id === choice.only)
  if (chosen.length === 0) {
    console.error(`no scenario ${choice.only}; there are: ${scenarios.map(({ id }) => id).join(', ')}`)
    return 2
  }
  const results = await measureAll(chosen, choice)
  if (choice.quick) return 0
  if (choice.whole) {
    saveResults(results)
    reportSaved()
  }
  return sayVerdicts(results.scenarios)
}

interface Choice {
  suite: Suite
  quick: boolean
  only: string | undefined
  rounds: number
  contenders: readonly ContenderName[]
  reportOnly: boolean
  /** Everything in one run: only that may be saved, because only that is comparable. */
  whole: boolean
}

function readChoice(args: string[]): Choice | { problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        rounds: { type: 'string' },
        contenders: { type: 'string' },
        sqlite: { type: 'string' },
        report: { type: 'boolean', default: false },
      },
    })
    const suite = SUITES.find(({ name }) => name === (positionals[0] ?? 'sqlite'))
    if (suite === undefined) return { problem: `no suite ${positionals[0]}` }
    if (values.sqlite !== undefined) process.env.BENCH_SQLITE = values.sqlite
    const rounds = Number(values.rounds ?? (values.quick ? 1 : ROUNDS_DEFAULT))
    if (!Number.isInteger(rounds) || rounds < 1)
      return { problem: `--rounds ${values.rounds} is not a number of rounds` }
    const named: readonly string[] = values.contenders?.split(',') ?? suite.contenders
    const isNamed = (name: ContenderName) => named.includes(name) || named.includes(labelOf(name))
    const contenders = suite.contenders.filter(isNamed)
    if (contenders.length < named.length)
      return { problem: `--contenders: there are ${suite.contenders.map(labelOf).join(', ')}` }
    return {
      suite,
      quick: values.quick,
      only: values.only,
      rounds,
      contenders,
      reportOnly: values.report,
      whole:
        values.only === undefined &&
        values.contenders === undefined &&
        values.sqlite === undefined &&
        !values.quick,
    }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

async function measureAll(scenarios: readonly Scenario[], choice: Choice): Promise<Results> {
  const machine = describeMachine()
  const workplace = await choice.suite.openWorkplace(choice)
  const results: Results = {
    suite: choice.suite.name,
    startedAt: new Date().toISOString(),
    rounds: choice.rounds,
    machine,
    versions: { ...ownVersions(), ...workplace.facts.versions },
    settings: workplace.facts.settings,
    scenarios: [],
  }
  const { processor, cores, loadBefore } = machine
  console.log(`${processor}, ${cores} cores, load ${loadBefore.toFixed(2)}, Node ${results.versions.node}`)
  // The directory is removed on exit; a signal alone would skip that.
  process.once('SIGINT', () => process.exit(130))
  try {
    for (const scenario of scenarios) {
      console.log(`\n${scenario.title} [${scenario.id}]`)
      const result = await measureScenario(scenario, workplace, { ...choice, say: console.log })
      results.scenarios.push(result)
    }
  } finally {
    await workplace.close()
  }
  return results
}

function sayVerdicts(scenarios: readonly ScenarioResult[]): number {
  console.log('')
  let missed = 0
  for (const scenario of scenarios) {
    for (const verdict of scenario.verdicts) {
      const required = verdict.level === 'reach'
      if (required && !verdict.reached) missed++
      const word = verdict.reached ? 'reached' : required ? 'MISSED ' : 'missed '
      const goal = `${required ? '' : 'stretch: '}${verdict.text}`
      console.log(`${word}  ${scenario.id.padEnd(18)} ${goal.padEnd(62)} ${measuredText(verdict, scenario)}`)
    }
  }
  console.log(missed === 0 ? '\nevery required target reached' : `\n${missed} required targets missed`)
  return missed === 0 ? 0 : 1
}

function reportSaved(): number {
  writeReport(
    SUITES.flatMap(({ name, notes }) => {
      const results = loadResults(name)
      return results === undefined ? [] : [{ results, notes }]
    }),
  )
  console.log('wrote docs/benchmarks.md')
  return 0
}
