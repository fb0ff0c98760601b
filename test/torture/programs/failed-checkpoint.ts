import { join } from 'node:path'
import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { newTask } from '../../conformance/world.ts'
import { argument, say } from '../../journeys/program.ts'
import { failing, outcomeOf } from './failing.ts'
import './library.ts'

/**
 * A reader lets a checkpoint copy only the first part of the log. When the rest is copied, the sync of the database fails. Another
 * connection, which is opened then and does not hear of it, copies the rest, and the log begins anew.
 */
const { folder, another } = argument<{ folder: string; another: boolean }>()
const { letNextSyncFail, mark } = failing(folder)
const path = join(folder, 'app.db')

const store = await openSqliteStore({ path })
const enqueue = async (count: number) => {
  for (let n = 0; n < count; n++) {
    const [task] = await store.tasks.enqueue([newTask()])
    mark(`enqueued ${task!.id}`)
  }
}
const first = new Connection(path)
const reader = new Connection(path)
const outcomes: unknown[] = []

await enqueue(20)
reader.statements.sql('BEGIN').run()
reader.statements.sql('SELECT count(*) FROM gleaner_tasks').get()
await enqueue(20)
const { busy, log, checkpointed } = first.checkpoint('RESTART')
outcomes.push(busy === 1 && checkpointed > 0 && checkpointed < log ? 'a part' : { busy, log, checkpointed })
reader.rollback()

letNextSyncFail('app.db')
outcomes.push(await outcomeOf(() => first.checkpoint('RESTART')))
const second = another ? new Connection(path) : first
outcomes.push(await outcomeOf(() => second.checkpoint('RESTART')))
await enqueue(5)
say('outcomes', { outcomes })
