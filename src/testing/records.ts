import type { Stored, Task } from '../define/types.ts'
import { isShortened } from '../model/shortened.ts'
import type { TaskRecord, TaskStatus } from '../model/task.ts'
import type { TaskManagement } from '../queue/manage.ts'

const PAGE = 1_000
const PAGES_MAX = 10_000

/** A task as it is stored, with the types of its definition. */
export interface RecordOf<I, R> extends Omit<TaskRecord, 'input' | 'result'> {
  /** What was enqueued. */
  input: Stored<I>
  /** Null until it is completed. */
  result: Stored<R> | null
}

/** Those in one of these states, in the order in which they were enqueued. */
export async function recordsOf<I, R>(
  tasks: TaskManagement,
  task: Task<I, R> | undefined,
  statuses: readonly TaskStatus[],
): Promise<RecordOf<I, R>[]> {
  const newestFirst: TaskRecord[] = []
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX && (page === 0 || cursor !== null); page++) {
    const { items, next } = await tasks.list({ name: task?.name, limit: PAGE, cursor })
    newestFirst.push(...items.filter(({ status }) => statuses.includes(status)))
    cursor = next
  }
  const whole = newestFirst.reverse().map(async (record) => {
    const isWhole = !isShortened(record.input) && !isShortened(record.result)
    return isWhole ? record : ((await tasks.get(record.id)) ?? record)
  })
  return (await Promise.all(whole)) as unknown as RecordOf<I, R>[]
}
