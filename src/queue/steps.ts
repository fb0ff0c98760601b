import { readExactly } from '../exact-json.ts'
import type { StepRecord } from '../model/step.ts'
import type { StepStore } from '../store/ports/steps.ts'

/** What is kept of the steps of an item, with the values read from their JSON, and the signals that no step has taken yet. */
export async function stepRecordsOf(
  store: Pick<StepStore, 'stepsOf' | 'signalsOf'>,
  item: string,
): Promise<StepRecord[]> {
  const [kept, signals] = await Promise.all([store.stepsOf(item), store.signalsOf(item)])
  return [
    ...kept.map((step) => ({ ...step, value: fromJson(step.value) })),
    ...signals.map(({ name, payload, sentAt }) => ({
      name,
      number: 0,
      kind: 'sent' as const,
      value: fromJson(payload),
      attempt: 0,
      startedAt: sentAt,
      keptAt: sentAt,
      until: null,
    })),
  ]
}

function fromJson(json: string | null): unknown {
  return json === null ? null : readExactly(json)
}
