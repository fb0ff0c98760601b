import { tasks } from '../../supervisor/tasks.ts'
import { embed, files, film } from '../tasks.ts'

const coldMs = Number(process.env.GLEANER_COLD_MS ?? 0)
if (coldMs > 0) await new Promise((resolve) => setTimeout(resolve, coldMs))

/** Memory that is never given back, with nothing in flight. */
const kept: unknown[] = []
if (process.env.FOUNDING_LEAK === '1')
  setTimeout(() => {
    for (;;) kept.push(new Array(100_000).fill(kept.length))
  }, 300)

/** What every worker process of these tests loads; the environment says where the database is. */
export default {
  database: 'sqlite:./unused.db',
  tasks: [...tasks, film, embed],
  discoveries: process.env.FOUNDING_MARKS === undefined ? [] : [files],
  timings: process.env.GLEANER_REAL_TIMINGS === '1' ? {} : { lease: '3s', sweep: '200ms', repair: '1s' },
}
