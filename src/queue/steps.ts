import { readExactly } from '../exact-json.ts'
import type { StepRecord } from '../model/step.ts'
import type { StepStore } from '../store/ports/steps.ts'

/** What is kept of the steps of an item, with the values read from their JSON. */
export async function stepRecordsOf(store: Pick<StepStore, 'stepsOf'>, item: string): Promise<StepRecord[]> {
  const kept = await store.stepsOf(item)
  return kept.map((step) => ({ ...step, value: step.value === null ? null : readExactly(step.value) }))
}
