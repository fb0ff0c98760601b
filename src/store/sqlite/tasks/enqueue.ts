import { followerKey } from '../../follower.ts'
import type { Enqueued, NewTask } from '../../ports/new-task.ts'
import type { ChangingTasks } from '../../scripts/task-changes.ts'
import { native } from '../../sql/script.ts'
import { storedKey, storedOrderKey } from '../../task-row.ts'
import type { Statements } from '../file/statements.ts'
import { alikeInARow } from './alike.ts'
import { enqueueHeld } from './held-key.ts'
import type { LanePlace } from './lanes.ts'
import type { QueueCache } from './queue-cache.ts'
import { countNewTasks, Tally } from './tally.ts'

/** Beyond this, an input has a row of its own: a change of status rewrites the task's whole row. */
const INLINE_INPUT_MAX = 2_048

/** In `input`, which is JSON otherwise: look into gleaner_inputs. */
export const INPUT_ELSEWHERE = ''

/** Where new tasks go. */
export interface Intended {
  placeOf: (task: NewTask) => LanePlace
  queues: QueueCache
}

/** Inside a write transaction, on our connection or on a user's own. */
export function insertTasks(
  db: Statements,
  tasks: readonly NewTask[],
  now: number,
  { placeOf, queues }: Intended,
): Enqueued[] {
  const tally = new Tally()
  const sequence = new IdSequence(db)
  queues.knowing(sequence.queuesVersion)
  const before = sequence.last
  const answers: Enqueued[] = []
  for (const alike of alikeInARow(tasks, differInInput)) {
    const place = placeOf(alike[0]!)
    if (alike.length > 1) {
      const racing = queues.of(alike[0]!.queue).strategy === 'weighted' && !alike[0]!.suspended
      const insert = racing ? insertRacing : insertTogether
      const offsets = insert(db, alike, sequence.last + 1, place, queues, now)
      for (const offset of offsets) answers.push({ id: String(sequence.last + 1 + offset), created: true })
      sequence.last += alike.length
      if (alike[0]!.suspended) tally.add(place.id, 'suspended', alike.length)
      else if (alike[0]!.limitKey !== undefined) tally.arrived(place.id)
    } else answers.push(insertUnlessHeld(db, alike[0]!, sequence, place, queues, now, tally))
  }
  tally.write(db)
  countNewTasks(db, before, sequence.last)
  return answers
}

/** Without anything of its own but its input, and that is short. */
function isPlain({ runAfter, key, orderKey, input }: NewTask): boolean {
  return runAfter === null && key === null && orderKey === undefined && isShort(input)
}

function isShort(input: string | null): boolean {
  return input === null || input.length <= INLINE_INPUT_MAX
}

/** They differ in their input alone. */
function differInInput(one: NewTask, next: NewTask): boolean {
  return (
    one.name === next.name &&
    one.queue === next.queue &&
    one.requires === next.requires &&
    one.limitKey === next.limitKey &&
    one.priority === next.priority &&
    one.maxAttempts === next.maxAttempts &&
    one.overrides === next.overrides &&
    one.flow === next.flow &&
    one.suspended === next.suspended &&
    isPlain(one) &&
    isPlain(next)
  )
}

/** One value to bind for all inputs. Answers how far the id of each is from the first. */
function insertTogether(
  db: Statements,
  alike: readonly NewTask[],
  firstId: number,
  place: LanePlace,
  queues: QueueCache,
  now: number,
): Iterable<number> {
  const { queue, priority, maxAttempts, overrides, flow = null, suspended } = alike[0]!
  db.sql(`INSERT INTO gleaner_tasks (id, lane, line, status, priority, rank, max_attempts, created_at, input, overrides, flow)
          SELECT ? + key, ?, ?, ?, ?, ?, ?, ?, value, ?, ? FROM json_each(?)`).run(
    firstId,
    place.id,
    place.line,
    suspended ? 'suspended' : 'queued',
    priority,
    suspended ? null : queues.draw(queue, priority, now),
    maxAttempts,
    now,
    storedOverrides(overrides),
    flow,
    JSON.stringify(alike.map((task) => task.input)),
  )
  return alike.keys()
}

/**
 * For a weighted queue, where each has a rank of its own. Whoever is drawn first gets the lowest id: so what is claimed
 * together lies together, instead of each on a page of its own that has to be written.
 */
function insertRacing(
  db: Statements,
  alike: readonly NewTask[],
  firstId: number,
  place: LanePlace,
  queues: QueueCache,
  now: number,
): Iterable<number> {
  const { queue, priority, maxAttempts, overrides, flow = null } = alike[0]!
  const ranks = queues.drawMany(queue, priority, now, alike.length)
  const inOrder = [...ranks.keys()].sort((a, b) => ranks[a]! - ranks[b]!)
  db.sql(`INSERT INTO gleaner_tasks (id, lane, line, status, priority, rank, max_attempts, created_at, input, overrides, flow)
          SELECT ? + key, ?, ?, 'queued', ?, value ->> 0, ?, ?, value ->> 1, ?, ? FROM json_each(?)`).run(
    firstId,
    place.id,
    place.line,
    priority,
    maxAttempts,
    now,
    storedOverrides(overrides),
    flow,
    JSON.stringify(inOrder.map((one) => [ranks[one], alike[one]!.input])),
  )
  const offsets: number[] = []
  for (const [offset, one] of inOrder.entries()) offsets[one] = offset
  return offsets
}

function insertUnlessHeld(
  db: Statements,
  task: NewTask,
  sequence: IdSequence,
  place: LanePlace,
  queues: QueueCache,
  now: number,
  tally: Tally,
): Enqueued {
  const key = storedKey(task)
  if (key !== null && task.whenHeld !== null) {
    const insert = (one: NewTask, itsKey: string) => {
      const id = sequence.next()
      insertTask(db, one, id, itsKey, place, queues, now, tally)
      return id
    }
    return enqueueHeld(db, { ...task, whenHeld: task.whenHeld }, key, now, tally, insert, (id, input) =>
      replaceInput(db, id, input),
    )
  }
  const holder = key === null ? null : holderOf(db, key)
  if (holder !== null) return { id: String(holder), created: false }
  const id = sequence.next()
  insertTask(db, task, id, key, place, queues, now, tally)
  return { id: String(id), created: true }
}

function insertTask(
  db: Statements,
  task: NewTask,
  id: number,
  key: string | null,
  place: LanePlace,
  queues: QueueCache,
  now: number,
  tally: Tally,
): void {
  const dueAt = dueTime(task, now)
  const { suspended = false } = task
  const delayed = !suspended && dueAt !== null && dueAt > now
  const elsewhere = !isShort(task.input)
  const values = [
    id,
    place.id,
    place.line,
    suspended ? 'suspended' : delayed ? 'scheduled' : 'queued',
    task.priority,
    suspended || delayed ? null : queues.draw(task.queue, task.priority, now),
    task.maxAttempts,
    now,
    elsewhere ? INPUT_ELSEWHERE : task.input,
    dueAt,
    key,
    storedOverrides(task.overrides),
    task.flow ?? null,
  ]
  if (task.orderKey === undefined) db.sql(INSERT_TASK).run(...values)
  else db.sql(INSERT_ORDERED).run(...values, ...placeInOrder(db, storedOrderKey(task), suspended || delayed))
  if (suspended) tally.add(place.id, 'suspended', 1)
  else if (delayed) tally.add(place.id, 'scheduled', 1)
  else if (task.limitKey !== undefined) tally.arrived(place.id)
  if (elsewhere) db.sql('INSERT INTO gleaner_inputs (task, input) VALUES (?, ?)').run(id, task.input)
  if (key !== null && task.keyScope === 'forever') {
    db.sql('INSERT INTO gleaner_forever_keys (key, task) VALUES (?, ?)').run(key, id)
  }
}

const INSERT_TASK = `INSERT INTO gleaner_tasks
    (id, lane, line, status, priority, rank, max_attempts, created_at, input, run_after, key, overrides, flow)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_ORDERED = `INSERT INTO gleaner_tasks
    (id, lane, line, status, priority, rank, max_attempts, created_at, input, run_after, key, overrides, flow, order_key, leads, suspect)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** It leads if no other one does. Otherwise it waits outside of what claims read. */
function placeInOrder(
  db: Statements,
  orderKey: string,
  isNotDue: boolean,
): [orderKey: string, leads: number, suspect: number] {
  const leader = db.scalar('SELECT 1 FROM gleaner_tasks WHERE order_key = ? AND leads = 1').get(orderKey)
  return leader === undefined ? [orderKey, 1, 0] : [orderKey, 0, isNotDue ? 0 : 2]
}

function storedOverrides(overrides: NewTask['overrides']): string | null {
  return overrides === null ? null : JSON.stringify(overrides)
}

function replaceInput(db: Statements, id: number, input: string | null): void {
  const elsewhere = !isShort(input)
  db.sql('UPDATE gleaner_tasks SET input = ? WHERE id = ?').run(elsewhere ? INPUT_ELSEWHERE : input, id)
  db.sql('DELETE FROM gleaner_inputs WHERE task = ?').run(id)
  if (elsewhere) db.sql('INSERT INTO gleaner_inputs (task, input) VALUES (?, ?)').run(id, input)
}

function dueTime(task: NewTask, now: number): number | null {
  if (task.runAfter === null) return null
  return 'at' in task.runAfter ? task.runAfter.at : now + task.runAfter.ms
}

/** The task that holds a key: an unfinished one, the one that waits for it to be free, or whichever took it for ever. */
export function holderOf(db: Statements, key: string): number | null {
  const holding = (stored: string) =>
    db
      .scalar(
        `SELECT id FROM gleaner_tasks WHERE key = ? AND status IN ('scheduled', 'queued', 'running', 'suspended')`,
      )
      .get(stored) as number | undefined
  const active = holding(key) ?? holding(followerKey(key))
  const forever = db.scalar('SELECT task FROM gleaner_forever_keys WHERE key = ?').get(key) as
    | number
    | undefined
  return active ?? forever ?? null
}

/** Ids grow, and one that was removed never comes back: somebody may still hold its handle. */
class IdSequence {
  last: number
  /** Read along, for it costs nothing here. */
  readonly queuesVersion: number

  constructor(db: Statements) {
    const { last, version } = db
      .sql(`SELECT max(coalesce((SELECT max(id) FROM gleaner_tasks), 0),
                 (SELECT value FROM gleaner_meta WHERE key = 'removed_through')) AS last,
              (SELECT value FROM gleaner_meta WHERE key = 'queues') AS version`)
      .get() as { last: number; version: number }
    this.last = last
    this.queuesVersion = version
  }

  next(): number {
    this.last += 1
    return this.last
  }
}

/** For scripts. */
export const sqliteKeyHolders: ChangingTasks['keyHolders'] = (keys) =>
  native((db: Statements) => {
    const holders = keys.map((key) => [key, holderOf(db, key)] as const)
    return new Map(holders.flatMap(([key, id]) => (id === null ? [] : [[key, String(id)] as const])))
  })
