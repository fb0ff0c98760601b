import { writeExactly } from '../../exact-json.ts'
import { shortened } from '../../model/shortened.ts'
import type { StepRecord } from '../../model/step.ts'
import { PageBytes } from '../../store/page-bytes.ts'

/** A run can have thousands of steps, each with a large result: the first ones keep theirs. */
export function boundedSteps(steps: readonly StepRecord[]): StepRecord[] {
  const bytes = new PageBytes()
  return steps.map((step) => {
    if (step.value === null || bytes.hasRoomFor(step)) return step
    return { ...step, value: shortened(Buffer.byteLength(writeExactly(step.value))) }
  })
}
