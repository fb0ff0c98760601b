import { join } from 'node:path'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { argument, say } from '../../journeys/program.ts'
import { failing, outcomeOf } from './failing.ts'
import './library.ts'

/** Claims, which is not synced; then a sync fails; then it goes on, and closes the database. */
const { folder } = argument<{ folder: string }>()
const { letNextSyncFail, mark } = failing(folder)

const store = await openSqliteStore({ path: join(folder, 'app.db') })
const enqueue = async () => {
  const [task] = await store.tasks.enqueue([newTask()])
  mark(`enqueued ${task!.id}`)
}
const outcomes: string[] = []
const tried = async (what: () => Promise<unknown>) => outcomes.push(await outcomeOf(what))

for (let n = 0; n < 20; n++) await enqueue()
const worker = await new Claimant(store, { now: () => Date.now() } as never).begin()
for (let n = 0; n < 10; n++) await worker.claim(1)
letNextSyncFail('app.db-wal')
await tried(enqueue)
for (let n = 0; n < 5; n++) await tried(enqueue)
await tried(() => store.tasks.countTasks({}))
say('outcomes', { outcomes })
await store.close()
