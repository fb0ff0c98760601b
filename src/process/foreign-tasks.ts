import { type Discovery, rowsDoneBy } from '../define/discovery.ts'
import { checkAgainst } from '../define/schema.ts'
import { doneBy } from '../define/task.ts'
import type { Task } from '../define/types.ts'
import { storable } from '../exact-json.ts'
import type { RunContext } from '../worker/context.ts'
import type { ForeignProgram } from './foreign-program.ts'

/** These tasks, all done by a program. What it answers is checked, where the task says what it should be. */
export function doneByProgram(tasks: readonly Task[], program: ForeignProgram): Task[] {
  return tasks.map((task) =>
    doneBy(task, ({ name, output }) => async (input, ctx) => {
      const result = await program.run(name, input, ctx as RunContext)
      return storable(output === undefined ? result : await checkAgainst(output, result, `result of ${name}`))
    }),
  )
}

/** Rows of these discoveries, all worked on by a program; `done` is on our side. */
export function rowsDoneByProgram(discoveries: readonly Discovery[], program: ForeignProgram): Discovery[] {
  return discoveries.map((discovery) =>
    rowsDoneBy(discovery, (row, ctx) => program.run(discovery.name, row, ctx as RunContext)),
  )
}
