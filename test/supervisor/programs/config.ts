import { tasks } from '../tasks.ts'

/** What every worker process of these tests loads; the environment says where the database is. */
export default { database: 'sqlite:./unused.db', tasks, timings: { lease: '3s', sweep: '200ms' } }
