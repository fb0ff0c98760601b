import { argument, say } from '../../journeys/program.ts'
import { arm, disarm, quiet } from '../kill-point.ts'
import { OPERATIONS } from '../operations.ts'

/** Runs one operation. The same module is preloaded, so that `arm` is the one that counts. */
const { name, database } = argument<{ name: string; database: string }>()
const operation = OPERATIONS.find((candidate) => candidate.name === name)!
await operation.run({
  database,
  begin: arm,
  end: disarm,
  quiet,
  acknowledge: (promise) => say('acknowledged', promise),
})
say('survived')
