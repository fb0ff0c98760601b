import type { FinishedStatus } from '../../../model/task.ts'
import { numberList, type Sql } from '../server/sql.ts'

/** Tasks of one lane that end together have one row, by which they are found in the order in which they ended. */
export async function fileFinished(
  sql: Sql,
  { lane, status, finishedAt }: { lane: number; status: FinishedStatus; finishedAt: number },
  tasks: readonly (string | number)[],
): Promise<void> {
  await sql.run('INSERT INTO gleaner.finished (lane, status, finished_at, tasks) VALUES ($1, $2, $3, $4)', [
    lane,
    status,
    finishedAt,
    numberList(tasks),
  ])
}

/** A task at its place among those that ended; without a time, it is not there. */
export interface Ended {
  id: number
  lane: number
  status: string
  finished_at: number | null
}

/** In a transaction that has locked them: they run again, or are gone. */
export async function unfileFinished(sql: Sql, tasks: readonly Ended[]): Promise<void> {
  const ended = tasks.filter((task) => task.finished_at !== null)
  if (ended.length === 0) return
  const values = [
    numberList(ended.map((task) => task.id)),
    numberList(ended.map((task) => task.lane)),
    ended.map((task) => task.status),
    numberList(ended.map((task) => task.finished_at!)),
  ]
  const gone = `(SELECT lane, status, finished_at, pg_catalog.array_agg(id) AS tasks
    FROM unnest($1::bigint[], $2::int[], $3::text[], $4::bigint[]) one(id, lane, status, finished_at)
    GROUP BY lane, status, finished_at) gone`
  const same = 'f.lane = gone.lane AND f.status = gone.status AND f.finished_at = gone.finished_at'
  await sql.run(
    `DELETE FROM gleaner.finished f USING ${gone} WHERE ${same} AND f.tasks <@ gone.tasks`,
    values,
  )
  await sql.run(
    `UPDATE gleaner.finished f SET tasks = ARRAY(SELECT pg_catalog.unnest(f.tasks) EXCEPT SELECT pg_catalog.unnest(gone.tasks))
     FROM ${gone} WHERE ${same} AND f.tasks && gone.tasks`,
    values,
  )
}
