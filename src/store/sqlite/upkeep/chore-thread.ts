import { parentPort, workerData } from 'node:worker_threads'
import { GleanerError } from '../../../errors.ts'
import type { UpkeepProgress } from '../../ports/maintenance.ts'
import { setStandardLibrary } from '../drivers/load.ts'
import { Connection } from '../file/connection.ts'
import { translated } from '../file/sql-errors.ts'
import { countAside } from '../rows/count.ts'
import { copyDatabase } from './backup.ts'
import type { Chore, ChoreOrder, FromChore, PlainError } from './chores.ts'
import { checkpoint, optimize } from './optimize.ts'
import { replaceDatabase } from './restore.ts'
import { findingsIn } from './soundness.ts'
import { verifyBackup } from './verify.ts'

/** One chore, and the end. */
const port = parentPort!
const say = (message: FromChore) => port.postMessage(message)
const tell = (progress: UpkeepProgress) => say({ progress })

async function done(chore: Chore): Promise<unknown> {
  switch (chore.kind) {
    case 'check':
      return on(chore.database, findingsIn)
    case 'checkpoint':
      return on(chore.database, checkpoint)
    case 'optimize':
      return on(chore.database, (connection) => optimize(connection, chore.options))
    case 'backup':
      return copyDatabase(chore, tell)
    case 'verify':
      return verifyBackup(chore.path)
    case 'restore':
      return replaceDatabase(chore, tell)
    case 'count-rows':
      return on(chore.database, (connection) => countAside(connection, chore.source, chore.now))
  }
}

async function on<T>(database: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = new Connection(database)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}

function plain(error: unknown): PlainError {
  const known = translated(error)
  if (!(known instanceof GleanerError))
    return { message: String(known), code: 'STORE_FAILED', hint: undefined }
  const { message, code, hint } = known
  // Whoever makes an error of it again adds the hint again.
  return { message: hint === undefined ? message : message.slice(0, -`. ${hint}`.length), code, hint }
}

const { chore, library } = workerData as ChoreOrder
setStandardLibrary(library)
await done(chore).then(
  (answer) => say({ answer: answer ?? null }),
  (error) => say({ error: plain(error) }),
)
