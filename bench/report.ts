import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { formatSpread } from './format.ts'
import type { EntryResult, Results, ScenarioResult } from './results.ts'
import type { Metric } from './scenarios/scenario.ts'
import { spreadOf } from './statistics.ts'
import type { Verdict } from './verdict.ts'

const REPORT = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url))

export interface SuiteReport {
  results: Results
  /** How the contenders are set up. */
  notes: string
}

export function writeReport(suites: readonly SuiteReport[]): void {
  writeFileSync(REPORT, [INTRODUCTION, ...suites.map(suiteReport), NEXT].join('\n\n').concat('\n'))
}

const INTRODUCTION = `# Benchmarks

Gleaner, its peers and SQL written by hand (“raw”), measured in one run on one machine. **Compare the ratios, not the
absolute figures**, because the figures depend on the machine.

- Each figure comes from a fresh process with a fresh file or database on disk. The contenders take turns within each round.
- A figure is the median of the rounds, with the spread in parentheses (min .. max). A ratio is taken within each round.
- \`npm run bench\` generates this page from the JSON files in \`bench/results/\`. Do not edit it by hand.`

const NEXT = `## Next

[Architecture](architecture.md): how Gleaner is built.`

function suiteReport({ results, notes }: SuiteReport): string {
  return [
    `## Suite: ${results.suite}`,
    settings(results),
    '### Targets',
    verdictTable(results.scenarios),
    ...results.scenarios.map(scenarioReport),
    '### How the contenders are set up',
    notes,
  ].join('\n\n')
}

function settings({ machine, versions, settings, startedAt, rounds }: Results): string {
  return table(
    ['setting', 'value'],
    [
      ['measured', startedAt.slice(0, 10)],
      [
        'machine',
        `${machine.processor}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.filesystem}`,
      ],
      ['kernel', machine.kernel],
      ['load before the start', machine.loadBefore.toFixed(2)],
      ['versions', pairs(versions)],
      ...(settings === undefined ? [] : [['settings of the server', pairs(settings)]]),
      ['rounds', String(rounds)],
    ],
  )
}

function pairs(record: Record<string, string>): string {
  return Object.entries(record)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}

function verdictTable(scenarios: readonly ScenarioResult[]): string {
  const rows = scenarios.flatMap((scenario) =>
    scenario.verdicts.map((verdict) => [
      scenario.title,
      `${verdict.level === 'stretch' ? 'stretch: ' : ''}${verdict.text}`,
      measuredText(verdict, scenario),
      verdict.reached ? 'reached' : '**missed**',
    ]),
  )
  return table(['scenario', 'target', 'Gleaner', 'result'], rows)
}

/** The unit of the metric the target speaks of. */
export function measuredText(verdict: Verdict, scenario: ScenarioResult): string {
  if (verdict.relative) return formatSpread(verdict.measured, 'ratio')
  const unit = scenario.metrics.find((metric) => metric.key === verdict.metric)?.unit ?? 'count'
  return formatSpread(verdict.measured, unit)
}

function scenarioReport({ title, meaning, metrics, entries }: ScenarioResult): string {
  const noted = entries.some((entry) => entry.note)
  const header = ['contender', ...metrics.map(columnTitle), ...(noted ? ['note'] : [])]
  const rows = entries.map((entry) => [
    entry.label,
    ...metrics.map((metric) => cell(entry, metric)),
    ...(noted ? [entry.note ?? ''] : []),
  ])
  return [`### ${title}`, meaning, table(header, rows)].join('\n\n')
}

function columnTitle({ label, unit }: Metric): string {
  return unit === 'µs' || unit === 'ms' || unit === 'MB' || unit === 'share' || unit === 'count'
    ? label
    : `${label}, ${unit}`
}

function cell(entry: EntryResult, { key, unit }: Metric): string {
  const values = entry.rounds.flatMap((sample) => sample[key] ?? [])
  return values.length === 0 ? '–' : formatSpread(spreadOf(values), unit)
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}
