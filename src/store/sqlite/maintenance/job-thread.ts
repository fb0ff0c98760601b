import { parentPort, workerData } from 'node:worker_threads'
import { GleanerError } from '../../../errors.ts'
import type { UpkeepProgress } from '../../ports/maintenance.ts'
import { setStandardLibrary } from '../drivers/load.ts'
import { Connection } from '../file/connection.ts'
import { translated } from '../file/sql-errors.ts'
import { countAside } from '../rows/count.ts'
import { copyDatabaseFile } from './backup.ts'
import type { FromJob, JobOrder, MaintenanceJob, PlainError } from './jobs.ts'
import { checkpoint, optimize } from './optimize.ts'
import { replaceDatabase } from './restore.ts'
import { findingsIn } from './soundness.ts'
import { verifyBackup } from './verify.ts'

// The thread runs one job and ends.
const port = parentPort!
const say = (message: FromJob) => port.postMessage(message)
const tell = (progress: UpkeepProgress) => say({ progress })

async function done(job: MaintenanceJob): Promise<unknown> {
  switch (job.kind) {
    case 'check':
      return on(job.database, findingsIn)
    case 'checkpoint':
      return on(job.database, checkpoint)
    case 'optimize':
      return on(job.database, (connection) => optimize(connection, job.options))
    case 'backup':
      return copyDatabaseFile(job, tell)
    case 'verify':
      return verifyBackup(job.path)
    case 'restore':
      return replaceDatabase(job, tell)
    case 'count-rows':
      return on(job.database, (connection) => countAside(connection, job.source, job.now))
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
  // The other side makes an error of it, which adds the hint again.
  return { message: hint === undefined ? message : message.slice(0, -`. ${hint}`.length), code, hint }
}

const { job, library } = workerData as JobOrder
setStandardLibrary(library)
await done(job).then(
  (answer) => say({ answer: answer ?? null }),
  (error) => say({ error: plain(error) }),
)
