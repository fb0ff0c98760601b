import { type Discovery, type DiscoveryDefinition, rowsDoneBy } from '../define/discovery.ts'
import { checkAgainst } from '../define/schema.ts'
import { doneBy, type Handler, type TaskDefinition } from '../define/task.ts'
import type { Context, Task } from '../define/types.ts'
import { storable } from '../exact-json.ts'
import type { RunContext } from '../worker/attempt/context.ts'
import type { BatchForProgram, ForeignProgram } from './foreign-program.ts'

/** These tasks, all done by a program. What it answers is checked, where the task says what it should be. */
export function doneByProgram(tasks: readonly Task[], program: ForeignProgram): Task[] {
  const handlerOf = ({ name, output, batch }: TaskDefinition): Handler => {
    const checked = async (result: unknown) =>
      storable(output === undefined ? result : await checkAgainst(output, result, `result of ${name}`))
    return batch === null
      ? async (input, ctx) => checked(await program.run(name, input, ctx as RunContext))
      : (inputs, ctx) => batchDoneBy(program, { name, checked }, inputs, asBatch(ctx))
  }
  return tasks.map((task) => doneBy(task, handlerOf, program))
}

/** Rows of these discoveries, all worked on by a program; `done` is on our side. */
export function rowsDoneByProgram(discoveries: readonly Discovery[], program: ForeignProgram): Discovery[] {
  const handlerOf = ({ name, batch }: DiscoveryDefinition): Handler =>
    batch === null
      ? (row, ctx) => program.run(name, row, ctx as RunContext)
      : (rows, ctx) => program.runBatch(name, rows, asBatch(ctx))
  return discoveries.map((discovery) => rowsDoneBy(discovery, handlerOf, program))
}

function asBatch(ctx: Context): BatchForProgram {
  return ctx as unknown as BatchForProgram
}

/** A result that does not fit fails its own item. */
async function batchDoneBy(
  program: ForeignProgram,
  { name, checked }: { name: string; checked: (result: unknown) => Promise<unknown> },
  inputs: readonly unknown[],
  ctx: BatchForProgram,
): Promise<unknown> {
  const failed = new Set<number>()
  const fail = (i: number, error: unknown) => {
    failed.add(i)
    ctx.fail(i, error)
  }
  const { items, log, progress } = ctx
  const results = await program.runBatch(name, inputs, {
    items,
    log,
    progress: (...told) => progress.apply(ctx, told),
    fail,
  })
  if (!Array.isArray(results)) return results
  return Promise.all(
    results.map(async (result, i) =>
      failed.has(i) ? undefined : checked(result).catch((error) => fail(i, error)),
    ),
  )
}
