import { copy } from './commands/copy.ts'
import { dev } from './commands/dev.ts'
import { discoveries } from './commands/discoveries.ts'
import { doctor } from './commands/doctor.ts'
import { enqueue } from './commands/enqueue.ts'
import { init } from './commands/init.ts'
import { maintenance } from './commands/maintenance.ts'
import { pause, resume } from './commands/pausing.ts'
import { prune } from './commands/prune.ts'
import { queues } from './commands/queues.ts'
import { schedules } from './commands/schedules.ts'
import { signal } from './commands/signal.ts'
import { start } from './commands/start.ts'
import { status } from './commands/status.ts'
import { tasks } from './commands/tasks.ts'
import { top } from './commands/top.ts'
import { work } from './commands/work.ts'
import { workers } from './commands/workers.ts'
import type { Command } from './console/command.ts'
import { completionOf } from './console/completion.ts'

const DECLARED: readonly Command[] = [
  init,
  dev,
  start,
  work,
  enqueue,
  signal,
  status,
  top,
  ...tasks,
  ...queues,
  ...discoveries,
  ...schedules,
  ...workers,
  pause,
  resume,
  ...maintenance,
  copy,
  prune,
  doctor,
]

/** Every command there is. What is parsed, the help, completion and the reference come from it. */
export const COMMANDS: readonly Command[] = [...DECLARED, completionOf(DECLARED)]
