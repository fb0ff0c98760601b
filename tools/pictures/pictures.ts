import { concept } from './concept.ts'
import { crash } from './crash.ts'
import { rowLife } from './row.ts'
import { taskLife } from './task.ts'
import { workerLife } from './worker.ts'

/** The drawings of the documentation, by their paths in the repository. */
export const PICTURES: Readonly<Record<string, () => string>> = {
  'docs/images/concept.svg': concept,
  'docs/images/task.svg': taskLife,
  'docs/images/row.svg': rowLife,
  'docs/images/worker.svg': workerLife,
  'docs/images/crash.svg': crash,
}
