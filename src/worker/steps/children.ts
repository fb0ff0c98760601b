import { type CheckedAll, checkAll, checkRun } from '../../define/flow.ts'
import { checkSleep } from '../../define/step.ts'
import type { AllOptions, ChildOutcome, RunOptions, Task } from '../../define/types.ts'
import { ChildFailed, InputError, PermanentError } from '../../errors.ts'
import { readExactly } from '../../exact-json.ts'
import {
  decideFlow,
  FLOW_DEPTH_MAX,
  type FlowRecord,
  type MemberOutcome,
  unsuccessfulOf,
} from '../../model/flow.ts'
import type { KeptStep } from '../../model/step.ts'
import type { Wait } from '../../model/wait.ts'
import type { FlowStore, NewChildren, SpawnAnswer } from '../../store/ports/flows.ts'
import type { NewTask } from '../../store/ports/new-task.ts'

/** Outcomes that are read at once. */
const PAGE = 1_000

/** What waiting for children needs of the steps of its attempt. */
export interface ChildrenSteps {
  begin(name: string): Promise<{ number: number; kept: KeptStep | undefined }>
  /** What proves the claim, with the step's place in it. */
  record(
    name: string,
    number: number,
  ): Pick<NewChildren, 'claim' | 'name' | 'number' | 'attempt' | 'startedAt'>
  session(): string
  /** Keeps the attempt from leaving while this is under way. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** Ends the attempt once no step of it runs. Never settled, unless the attempt is aborted. */
  waitFor(wait: Wait): Promise<never>
  lost(): Error
}

/** How a worker turns inputs into tasks, and results into values. */
export interface ChildTasks {
  /** Checks them, and passes them to `store`, traced. */
  spawn<T extends { created: number }>(
    task: Task,
    inputs: readonly unknown[],
    options: object,
    store: (tasks: readonly NewTask[]) => Promise<T>,
  ): Promise<T>
  readResult(task: Task, result: string | null): unknown
}

/** `ctx.run` and `ctx.all` of one attempt. */
export class Children {
  readonly #steps: ChildrenSteps
  readonly #store: FlowStore
  readonly #tasks: ChildTasks

  constructor(steps: ChildrenSteps, store: FlowStore, tasks: ChildTasks) {
    this.#steps = steps
    this.#store = store
    this.#tasks = tasks
  }

  async run(task: Task, input: unknown, options: RunOptions | undefined): Promise<unknown> {
    const enqueue = checkRun(options)
    const flow = await this.#ended(task.name, task, [input], {
      concurrency: null,
      onFailure: 'fail',
      enqueue,
    })
    const [result] = await this.#results(flow, task)
    return result
  }

  async all(
    name: string,
    task: Task,
    inputs: readonly unknown[],
    options: AllOptions | undefined,
  ): Promise<unknown[]> {
    checkSleep(name)
    const checked = checkAll(name, inputs, options)
    if (inputs.length === 0) return []
    const flow = await this.#ended(name, task, inputs, checked)
    return checked.onFailure === 'collect' ? this.#outcomes(flow, task) : this.#results(flow, task)
  }

  /** Of the tasks that this one ran after, or of the batch that it follows. */
  async *awaited(item: string): AsyncGenerator<ChildOutcome<any>> {
    for (const flow of await this.#store.flowsOf(item)) {
      if (flow.kind === 'children') continue
      for await (const { id, status, result, error } of this.#members(flow.id)) {
        if (status === 'completed') yield { id, status, result: readStored(result) }
        else yield { id, status: status ?? 'removed', error }
      }
    }
  }

  /** The flow, when it is over for this run. Otherwise the attempt ends here, and the handler is not resumed. */
  async #ended(
    name: string,
    task: Task,
    inputs: readonly unknown[],
    options: CheckedAll,
  ): Promise<FlowRecord> {
    const { number, kept } = await this.#steps.begin(name)
    if (kept !== undefined && kept.kind !== 'children')
      throw new PermanentError(`an earlier attempt kept step ${name} (${number}) as another kind of step`)
    const flow = await this.#steps.during(async () => {
      const id = kept?.value ?? (await this.#spawn({ name, number, task, inputs }, options))
      return this.#store.flow(id)
    })
    if (flow === null) throw new PermanentError(`the children of step ${name} are gone`)
    const wait = { kind: 'children', name, number, until: null } as const
    if (decideFlow(flow) !== 'go-on') return this.#steps.waitFor(wait)
    if (flow.onFailure !== 'fail' || unsuccessfulOf(flow) === 0) return flow
    const failure = await this.#failure(flow, task)
    // The child was retried just now: it is waited for again.
    if (failure === null) return this.#steps.waitFor(wait)
    throw failure
  }

  async #spawn(
    { name, number, task, inputs }: { name: string; number: number; task: Task; inputs: readonly unknown[] },
    { concurrency, onFailure, enqueue }: CheckedAll,
  ): Promise<string> {
    const session = this.#steps.session()
    const step = this.#steps.record(name, number)
    let answer: SpawnAnswer | undefined
    await this.#tasks.spawn(task, inputs, enqueue, async (tasks) => {
      answer = await this.#store.spawn(session, { ...step, tasks, concurrency, onFailure })
      return { created: answer.kind === 'spawned' ? answer.created : 0 }
    })
    return this.#flowOf(answer!, name)
  }

  #flowOf(answer: SpawnAnswer, name: string): string {
    switch (answer.kind) {
      case 'spawned':
      case 'kept':
        return answer.flow
      case 'lost':
        throw this.#steps.lost()
      case 'too-deep':
        throw tooLarge(
          'FLOW_TOO_DEEP',
          `step ${name}: this task has ${FLOW_DEPTH_MAX} ancestors`,
          'Use fewer levels.',
        )
      case 'too-many':
        throw tooLarge(
          'FLOW_TOO_LARGE',
          `step ${name}: too many tasks wait for this one`,
          'Enqueue the child without a key.',
        )
      case 'cycle':
        throw tooLarge(
          'FLOW_CYCLE',
          `step ${name}: a child has the key or the order of task ${answer.task}, which waits for it`,
          'Neither would ever run. Give the child another key or order, or none.',
        )
    }
  }

  async #failure(flow: FlowRecord, { name }: Task): Promise<Error | null> {
    const { items } = await this.#store.outcomes(flow.id, { limit: 1, cursor: null, unsuccessful: true })
    const [first] = items
    if (first === undefined || first.status === null || first.status === 'completed') return null
    const { id, status, error } = first
    return new ChildFailed({ id, name, status, error })
  }

  async #results(flow: FlowRecord, task: Task): Promise<unknown[]> {
    const results: unknown[] = new Array(flow.total)
    for await (const { id, position, status, result, error } of this.#members(flow.id)) {
      if (status !== 'completed')
        throw new ChildFailed({ id, name: task.name, status: status ?? 'failed', error })
      results[position] = await this.#tasks.readResult(task, result)
    }
    return results
  }

  async #outcomes(flow: FlowRecord, task: Task): Promise<ChildOutcome<unknown>[]> {
    const outcomes: ChildOutcome<unknown>[] = new Array(flow.total)
    for await (const { position, id, status, result, error } of this.#members(flow.id)) {
      if (status === 'completed')
        outcomes[position] = { id, status, result: await this.#tasks.readResult(task, result) }
      else outcomes[position] = { id, status: status ?? 'failed', error }
    }
    return outcomes
  }

  async *#members(flow: string): AsyncGenerator<MemberOutcome> {
    let cursor: string | null = null
    do {
      const page: { items: MemberOutcome[]; next: string | null } = await this.#store.outcomes(flow, {
        limit: PAGE,
        cursor,
      })
      yield* page.items
      cursor = page.next
    } while (cursor !== null)
  }
}

function readStored(result: string | null): unknown {
  return result === null ? undefined : readExactly(result)
}

function tooLarge(
  code: 'FLOW_TOO_DEEP' | 'FLOW_TOO_LARGE' | 'FLOW_CYCLE',
  message: string,
  hint: string,
): InputError {
  return new InputError(message, { code, hint })
}
