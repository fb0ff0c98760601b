import { type ContenderName, labelOf } from './contenders/contender.ts'
import { formatFigure } from './format.ts'
import type { EntryResult, ScenarioResult } from './results.ts'
import type { Bench, Entry, Sample, Scenario } from './scenarios/scenario.ts'
import { judge } from './verdict.ts'

export interface MeasureOptions {
  rounds: number
  contenders: readonly ContenderName[]
  /** One line of progress. */
  say(line: string): void
}

/** Nobody reads the figures of a quick run, so its measurements may disturb each other. */
const QUICK_AT_ONCE = 4

/**
 * All entries once per round, so that whatever else the machine does hits all of them alike. There and back: nobody is
 * always the first or the last, and those that are compared with each other stay neighbours.
 */
export async function measureScenario(
  scenario: Scenario,
  bench: Bench,
  { rounds, contenders, say }: MeasureOptions,
): Promise<ScenarioResult> {
  const entries = scenario.entries(bench).filter((entry) => contenders.includes(entry.contender))
  const results = new Map(entries.map((entry): [Entry, EntryResult] => [entry, emptyResult(entry)]))

  for (let round = 0; round < rounds; round++) {
    const due = entries.filter((entry) => round < (entry.roundsMax ?? rounds))
    await inTurn(round % 2 === 0 ? due : due.reverse(), bench.quick ? QUICK_AT_ONCE : 1, async (entry) => {
      const sample = await measureEntry(entry).catch((error) => {
        // A peer that cannot keep up must not end the run of all others. What Gleaner cannot do is an error.
        if (labelOf(entry.contender) === 'gleaner') throw error
        say(`  round ${round + 1}  ${entry.label.padEnd(48)} failed: ${reasonOf(error)}`)
        Object.assign(results.get(entry)!, { note: 'failed in a round' })
        return null
      })
      if (sample === null) return
      results.get(entry)!.rounds.push(sample)
      say(`  round ${round + 1}  ${entry.label.padEnd(48)} ${describe(scenario, sample)}`)
    })
  }
  return {
    id: scenario.id,
    title: scenario.title,
    meaning: scenario.meaning,
    metrics: scenario.metrics,
    entries: [...results.values()],
    verdicts: scenario.targets.flatMap((target) => judge(target, [...results.values()]) ?? []),
  }
}

function emptyResult({ label, note }: Entry): EntryResult {
  return { label, note, rounds: [] }
}

async function inTurn<T>(
  items: readonly T[],
  atOnce: number,
  use: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const turn = async () => {
    for (const item of waiting) await use(item)
  }
  await Promise.all(Array.from({ length: atOnce }, turn))
}

async function measureEntry(entry: Entry): Promise<Sample> {
  try {
    return await entry.measure()
  } catch (cause) {
    throw new Error(`${entry.label} could not be measured`, { cause })
  }
}

/** The innermost cause, in one line. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? reasonOf(cause) : message.split('\n')[0]!
}

function describe(scenario: Scenario, sample: Sample): string {
  return scenario.metrics
    .flatMap(({ key, label, unit }) =>
      sample[key] === undefined ? [] : `${label} ${formatFigure(sample[key], unit)}`,
    )
    .join(' · ')
}
