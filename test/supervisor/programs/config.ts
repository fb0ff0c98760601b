import { existsSync, readFileSync } from 'node:fs'
import { readAssignment } from '../../../src/process/assignment.ts'
import { tasks } from '../tasks.ts'

/** `GLEANER_CRASH`: when, and in which pool: 'start main', 'ready main', 'item main'. */
const file = process.env.GLEANER_CRASH_FILE ?? ''
const crash = existsSync(file) ? readFileSync(file, 'utf8') : process.env.GLEANER_CRASH
const [when, where] = (crash ?? '').split(' ')
const crashes = where === readAssignment()?.pool
if (crashes && when === 'start') process.exit(7)
if (crashes && when === 'ready') setTimeout(() => process.exit(7), 700)
const hooks = crashes && when === 'item' ? { aroundRun: () => process.exit(7) } : {}

/** What every worker process of these tests loads; the environment says where the database is. */
export default {
  database: 'sqlite:./unused.db',
  tasks,
  hooks,
  timings: { lease: '3s', sweep: '200ms' },
}
