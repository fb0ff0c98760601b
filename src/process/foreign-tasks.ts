import { checkAgainst } from '../define/schema.ts'
import { doneBy } from '../define/task.ts'
import type { Task } from '../define/types.ts'
import type { RunContext } from '../worker/context.ts'
import type { ForeignProgram } from './foreign-program.ts'

/** These tasks, all done by a program. What it answers is checked, where the task says what it should be. */
export function doneByProgram(tasks: readonly Task[], program: ForeignProgram): Task[] {
  return tasks.map((task) =>
    doneBy(task, ({ name, output }) => async (input, ctx) => {
      const result = await program.run(name, input, ctx as RunContext)
      return output === undefined ? result : checkAgainst(output, result, `result of ${name}`)
    }),
  )
}
