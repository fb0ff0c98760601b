import { dirname } from 'node:path'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/types.ts'
import { PAYLOAD_MAX_BYTES } from '../define/payload.ts'
import type { GleanerOptions } from '../engine/gleaner.ts'
import { type ForeignOptions, ForeignProgram, type ProgramEnd } from './foreign-program.ts'
import { doneByProgram, rowsDoneByProgram } from './foreign-tasks.ts'

export interface Hosted {
  /** Of the engine's options, those of what the program does. */
  engine: Pick<GleanerOptions, 'tasks' | 'discoveries'>
  stop(): Promise<void>
  /** As if it had crashed. */
  kill(): void
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
  command: readonly string[] | undefined,
  { componentId, onFrame = () => {}, ...rest }: HostOptions,
): Promise<Hosted | null> {
  if (command === undefined) return null
  const { tasks = [], discoveries = [] } = config.engine
  const { GLEANER_WORKER: _, ...env } = process.env
  const program = await ForeignProgram.start({
    command,
    cwd: dirname(config.path),
    env: { ...env, GLEANER_COMPONENT_ID: componentId },
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
  }
}

/** With the session open: whoever finds it sees a crash, and charges it to what ran. */
function dieLikewise({ code, signal }: ProgramEnd): void {
  console.error(`the program ended with ${signal ?? `exit code ${code}`}`)
  if (signal !== null) process.kill(process.pid, signal)
  process.exit(code === null || code === 0 ? 1 : code)
}
