import type { NewTask } from '../../ports/new-task.ts'

/** Tasks of one name and queue that any worker of that name and queue can take. */
export interface NewTasks {
  queue: string
  name: string
  count: number
}

/** As it is notified. `place`: of the first worker that is to take one, in the order by `seed`. */
export interface TaskWords extends NewTasks {
  seed: string
  place: number
}

/** A notification holds 8 000 bytes. */
const WORDS_MAX = 1_000

/** Null: all workers are to look, because it depends on more than name and queue who can take them, and when. */
export function newTasksOf(tasks: readonly NewTask[]): NewTasks | null {
  const [first] = tasks
  if (first === undefined) return null
  const { queue, name } = first
  const areAlike = tasks.every(
    (task) =>
      task.queue === queue &&
      task.name === name &&
      task.requires === null &&
      task.limitKey === undefined &&
      task.runAfter === null &&
      task.key === null,
  )
  return areAlike ? { queue, name, count: tasks.length } : null
}

/** Null: they are not alike. */
export function added(some: NewTasks, more: NewTasks): NewTasks | null {
  const areAlike = some.queue === more.queue && some.name === more.name
  return areAlike ? { ...some, count: some.count + more.count } : null
}

/** One word; null: it would be too long. */
export function writeTaskWords({ seed, place, count, queue, name }: TaskWords): string | null {
  const words = `task:${[seed, place, count, encodeURIComponent(queue), encodeURIComponent(name)].join(':')}`
  return words.length > WORDS_MAX ? null : words
}

export function readTaskWords(word: string): TaskWords | null {
  const [kind, seed, place, count, queue, name] = word.split(':')
  if (kind !== 'task' || name === undefined) return null
  return {
    seed: seed!,
    place: Number(place),
    count: Number(count),
    queue: decodeURIComponent(queue!),
    name: decodeURIComponent(name),
  }
}
