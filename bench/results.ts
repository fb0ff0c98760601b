import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Machine } from './machine.ts'
import type { Metric, Sample } from './scenarios/scenario.ts'
import type { Verdict } from './verdict.ts'

/** Everything a run found out: written as JSON, and all that the report is made of. */
export interface Results {
  suite: string
  startedAt: string
  rounds: number
  machine: Machine
  versions: Record<string, string>
  /** Of the server, where there is one. */
  settings?: Record<string, string>
  scenarios: ScenarioResult[]
}

export interface ScenarioResult {
  id: string
  title: string
  meaning: string
  metrics: readonly Metric[]
  entries: EntryResult[]
  verdicts: Verdict[]
}

export interface EntryResult {
  label: string
  note?: string
  rounds: Sample[]
}

const fileOf = (suite: string) => fileURLToPath(new URL(`./results/${suite}.json`, import.meta.url))

export function saveResults(results: Results): void {
  mkdirSync(fileURLToPath(new URL('./results/', import.meta.url)), { recursive: true })
  writeFileSync(fileOf(results.suite), `${JSON.stringify(results, rounded, 2)}\n`)
}

export function loadResults(suite: string): Results | undefined {
  const file = fileOf(suite)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Nobody needs sixteen digits of a measurement, and diffs of the committed file should be readable. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
}
