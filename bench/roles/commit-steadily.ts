import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'

/** An application that shares the file with the queue and writes to a table of its own all the time. */
export async function run(params: {
  file: string
  perSecond: number
  seconds: number
}): Promise<{ perSecond: number }> {
  const db = new Database(params.file, { timeout: 5000 })
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.exec(
    'CREATE TABLE IF NOT EXISTS app_visits (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, page TEXT NOT NULL)',
  )
  const insert = db.prepare('INSERT INTO app_visits (at, page) VALUES (?, ?)')

  let commits = 0
  const startedMs = performance.now()
  const elapsedMs = () => performance.now() - startedMs
  while (elapsedMs() < params.seconds * 1000) {
    const due = Math.floor((elapsedMs() / 1000) * params.perSecond)
    for (; commits < due; commits++) insert.run(Date.now(), '/albums/1234')
    await sleep(1)
  }
  const perSecond = (commits / elapsedMs()) * 1000
  db.close()
  return { perSecond }
}
