import {
  decideHeld,
  type HeldDecision,
  type KeyHolder,
  type KeyHolders,
  type WhenHeld,
} from '../../../model/held-key.ts'
import { type Follows, followerKey, THROTTLES_PRUNED_MAX } from '../../follower.ts'
import type { Enqueued, NewTask } from '../../ports/new-task.ts'
import { storedKey } from '../../task-row.ts'
import type { Sql } from '../server/sql.ts'
import { Tally } from './tally.ts'

type Wishing = NewTask & { key: string; whenHeld: WhenHeld }

/** Tasks of one key that wish the same: the first of a throttled key counts, of any other the last. */
interface Group {
  key: string
  wish: WhenHeld
  positions: number[]
}

/** How rows are made. */
interface Inserting {
  withoutWish(tasks: readonly NewTask[]): Promise<Enqueued[]>
  /** Answers their ids. */
  asTheyAre(tasks: readonly (NewTask & Follows)[]): Promise<number[]>
}

/** In a transaction that has locked the keys: tasks of which some say what is to happen when their key is held. */
export async function insertWithKeys(
  sql: Sql,
  tasks: readonly NewTask[],
  clockMs: number | null,
  inserting: Inserting,
): Promise<Enqueued[]> {
  const answers: Enqueued[] = new Array(tasks.length)
  const positions = [...tasks.keys()]
  const plain = positions.filter((position) => tasks[position]!.whenHeld === null)
  const wishing = positions.filter((position) => tasks[position]!.whenHeld !== null)
  const inserted = await inserting.withoutWish(plain.map((position) => tasks[position]!))
  plain.forEach((position, i) => {
    answers[position] = inserted[i]!
  })
  for (const groups of inTurns(tasks, wishing)) {
    await enqueueGroups(sql, tasks, groups, clockMs, inserting, answers)
  }
  return answers
}

/** In one turn, each key has one group. */
function inTurns(tasks: readonly NewTask[], positions: readonly number[]): Group[][] {
  const turns: Group[][] = []
  const last = new Map<string, { group: Group; turn: number }>()
  for (const position of positions) {
    const task = tasks[position] as Wishing
    const key = storedKey(task)!
    const before = last.get(key)
    if (before !== undefined && before.group.wish.kind === task.whenHeld.kind) {
      before.group.positions.push(position)
      if (task.whenHeld.kind !== 'throttle') before.group.wish = task.whenHeld
      continue
    }
    const group: Group = { key, wish: task.whenHeld, positions: [position] }
    const turn = before === undefined ? 0 : before.turn + 1
    last.set(key, { group, turn })
    turns[turn] = [...(turns[turn] ?? []), group]
  }
  return turns
}

async function enqueueGroups(
  sql: Sql,
  tasks: readonly NewTask[],
  groups: readonly Group[],
  clockMs: number | null,
  inserting: Inserting,
  answers: Enqueued[],
): Promise<void> {
  const { now, holders } = await readHolders(
    sql,
    groups.map((group) => group.key),
    clockMs,
  )
  const decided = groups.map((group) => ({
    group,
    task: tasks[countingPosition(group)] as Wishing,
    decision: decideHeld(group.wish, holders.get(group.key)!, now),
  }))
  const fresh = decided.filter(({ decision }) => decision.do === 'insert' || decision.do === 'follow')
  const ids = await inserting.asTheyAre(fresh.map(({ task, decision }) => newRow(task, decision)))
  const idOf = new Map(fresh.map(({ group }, i) => [group, ids[i]!]))
  await replace(sql, decided, now)
  await noteThrottles(sql, groups, idOf, now)
  for (const { group, decision } of decided) {
    const id = 'id' in decision ? decision.id : idOf.get(group)!
    for (const [i, position] of group.positions.entries()) {
      answers[position] = { id: String(id), created: i === 0 && !('id' in decision) }
    }
  }
}

function countingPosition({ wish, positions }: Group): number {
  return wish.kind === 'throttle' ? positions[0]! : positions.at(-1)!
}

/** A follower is never there at once: whoever moves it when it is due looks whether the other has ended. */
function newRow(task: Wishing, decision: HeldDecision): NewTask & Follows {
  if (decision.do !== 'follow') return { ...task, follows: false }
  return { ...task, runAfter: task.runAfter ?? { ms: 1 }, follows: true }
}

/** Locked until the end of the transaction: nobody can claim them before they have their new input. */
async function readHolders(
  sql: Sql,
  keys: readonly string[],
  clockMs: number | null,
): Promise<{ now: number; holders: Map<string, KeyHolders> }> {
  const rows = await sql.rows<{ key: string; id: number; held: boolean; createdAt: number }>(
    `SELECT active_key AS key, id, fence IS NOT NULL OR status = 'suspended' AS held, created_at AS "createdAt" FROM gleaner.tasks
     WHERE active_key = ANY($1) ORDER BY tasks.id FOR UPDATE`,
    [[...keys, ...keys.map(followerKey)]],
  )
  const others = await sql.row<{ now: number; forever: [string, number][]; throttled: [string, number][] }>(
    `SELECT coalesce($2::bigint, gleaner.now_ms()) AS now,
            (SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(key, task)), '[]') FROM gleaner.forever_keys
             WHERE key = ANY($1)) AS forever,
            (SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(key, task)), '[]') FROM gleaner.throttles
             WHERE key = ANY($1) AND until > coalesce($2::bigint, gleaner.now_ms())) AS throttled`,
    [keys, clockMs],
  )
  const { forever, throttled } = others!
  // A connection of the user's own may tell large numbers as text.
  const now = Number(others!.now)
  const byKey = new Map<string, KeyHolder>(
    rows.map((row) => [row.key, { ...row, id: Number(row.id), createdAt: Number(row.createdAt) }]),
  )
  const [always, resting] = [new Map(forever), new Map(throttled)]
  const holders = keys.map((key): [string, KeyHolders] => [
    key,
    {
      active: byKey.get(key) ?? null,
      follower: byKey.get(followerKey(key)) ?? null,
      forever: always.get(key) ?? null,
      throttled: resting.get(key) ?? null,
    },
  ])
  return { now, holders: new Map(holders) }
}

/** What failed with the former input says nothing about this one. One that crashed is still run alone. */
async function replace(
  sql: Sql,
  decided: readonly { task: Wishing; decision: HeldDecision }[],
  now: number,
): Promise<void> {
  const replaced = decided.flatMap(({ task, decision }) =>
    decision.do === 'replace' ? [{ id: decision.id, runAt: decision.runAt, input: task.input }] : [],
  )
  if (replaced.length === 0) return
  // One that is due and has waited for long enough keeps its place.
  const rows = await sql.rows<{ lane: number; postponed: boolean }>(
    `WITH given AS MATERIALIZED (
       SELECT t.id, t.status AS before, g.input, g.run_at,
              g.run_at IS NOT NULL AND (t.status = 'scheduled' OR g.run_at > $4) AS moves
       FROM unnest($1::bigint[], $2::text[], $3::bigint[]) g(id, input, run_at) JOIN gleaner.tasks t USING (id)
     )
     UPDATE gleaner.tasks SET input = given.input, attempts = 0, crashes = 0, error = NULL,
       status = CASE WHEN moves THEN 'scheduled' ELSE status END, in_line = in_line AND NOT moves,
       delayed = delayed OR moves,
       rank = CASE WHEN moves THEN NULL ELSE rank END,
       run_after = CASE WHEN moves THEN given.run_at ELSE run_after END
     FROM given WHERE tasks.id = given.id
     RETURNING lane, moves AND before = 'queued' AS postponed`,
    [
      replaced.map(({ id }) => id),
      replaced.map(({ input }) => input),
      replaced.map(({ runAt }) => runAt),
      now,
    ],
  )
  const tally = new Tally()
  for (const { lane, postponed } of rows) if (postponed) tally.add(lane, 'scheduled', 1)
  await tally.write(sql)
}

async function noteThrottles(
  sql: Sql,
  groups: readonly Group[],
  idOf: ReadonlyMap<Group, number>,
  now: number,
): Promise<void> {
  const throttled = groups.flatMap((group) =>
    group.wish.kind === 'throttle' && idOf.has(group)
      ? [{ key: group.key, task: idOf.get(group)!, until: now + group.wish.ms }]
      : [],
  )
  if (throttled.length === 0) return
  await sql.run(
    `INSERT INTO gleaner.throttles (key, task, until) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])
     ON CONFLICT (key) DO UPDATE SET task = excluded.task, until = excluded.until`,
    [throttled.map(({ key }) => key), throttled.map(({ task }) => task), throttled.map(({ until }) => until)],
  )
  await sql.run(
    `DELETE FROM gleaner.throttles WHERE key IN (SELECT key FROM gleaner.throttles WHERE until <= $1
       ORDER BY until LIMIT ${THROTTLES_PRUNED_MAX} FOR UPDATE SKIP LOCKED)`,
    [now],
  )
}
