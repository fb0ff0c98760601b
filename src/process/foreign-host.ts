import { dirname } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config, PoolProgram } from '../config/types.ts'
import { PAYLOAD_MAX_BYTES } from '../define/payload.ts'
import type { GleanerOptions } from '../engine/gleaner.ts'
import { type ForeignOptions, ForeignProgram, type ProgramEnd } from './foreign-program.ts'
import { doneByProgram, rowsDoneByProgram } from './foreign-tasks.ts'
import { primaryGroupOf } from './primary-group.ts'

export interface Hosted {
  /** Of the engine's options, those of what the program does. */
  engine: Pick<GleanerOptions, 'tasks' | 'discoveries'>
  stop(): Promise<void>
  /** As if it had crashed. */
  kill(): void
  /** The memory of the program, in bytes; null: it is not known. */
  rss(): number | null
}

export interface HostOptions extends Pick<ForeignOptions, 'onOutput' | 'onReplaced' | 'ownGroup'> {
  /** What its frames call it. */
  componentId: string
  onFrame?: ForeignOptions['onFrame']
}

/** Between a cancel and the end of a program that does not heed it: as with handlers of our own. */
const GRACE_MS = 5_000

/** Starts the program of a pool, for a process that does its tasks through it. Null: the pool has none. */
export async function hostProgram(
  config: Config,
  pool: PoolProgram | undefined,
  { componentId, onFrame = () => {}, ...rest }: HostOptions,
): Promise<Hosted | null> {
  if (pool === undefined) return null
  const { tasks = [], discoveries = [] } = config.engine
  const { command, uid } = pool
  const gid = pool.gid ?? (uid === undefined ? undefined : await primaryGroupOf(uid))
  const program = await ForeignProgram.start({
    command,
    batches: pool.batches ?? false,
    cwd: dirname(config.path),
    env: { ...environmentFor(pool, process.env), GLEANER_COMPONENT_ID: componentId },
    uid,
    gid,
    lineMax: config.engine.payloadLimit ?? PAYLOAD_MAX_BYTES,
    graceMs: GRACE_MS,
    clock: systemClock,
    onFrame,
    onCrash: dieLikewise,
    ...rest,
  })
  return {
    engine: {
      tasks: doneByProgram(tasks, program),
      discoveries: rowsDoneByProgram(discoveries, program),
    },
    stop: () => program.stop(),
    kill: () => program.kill(),
    rss: () => program.rss,
  }
}

/** What every program needs, and the mark by which a supervisor finds what its workers have started. */
const ALWAYS = /^(PATH|HOME|LANG|LC_[A-Z_]+|TZ|TMPDIR|GLEANER_PROCESS)$/

/** The rest holds secrets that are none of the program's: tokens, the address of the database. */
export function environmentFor(
  { env }: Pick<PoolProgram, 'env'>,
  ours: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const names = isList(env) ? env : []
  const values = isList(env) ? {} : env
  const passed = Object.entries(ours).filter(([name]) => ALWAYS.test(name) || names.includes(name))
  return { ...Object.fromEntries(passed), ...values }
}

function isList(env: PoolProgram['env']): env is readonly string[] {
  return Array.isArray(env)
}

/** The session stays open: the sweeper or the supervisor sees a crash and charges the items that ran. */
function dieLikewise({ code, signal }: ProgramEnd): void {
  console.error(`the program ended with ${signal ?? `exit code ${code}`}`)
  if (signal !== null) process.kill(process.pid, signal)
  process.exit(code === null || code === 0 ? 1 : code)
}
