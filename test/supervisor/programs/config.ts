import { existsSync, readFileSync, writeSync } from 'node:fs'
import { readAssignment } from '../../../src/process/assignment.ts'
import { say } from '../../journeys/program.ts'
import { fuzzedFrames } from '../../process/fuzzed-frames.ts'
import { tasks } from '../tasks.ts'

/** `GLEANER_CRASH`: when, and in which pool: 'start main', 'ready main', 'item main'. */
const file = process.env.GLEANER_CRASH_FILE ?? ''
const crash = existsSync(file) ? readFileSync(file, 'utf8') : process.env.GLEANER_CRASH
const [when, where] = (crash ?? '').split(' ')
const crashes = where === readAssignment()?.pool
if (crashes && when === 'start') process.exit(7)
if (crashes && when === 'ready') setTimeout(() => process.exit(7), 700)
const coldMs = Number(process.env.GLEANER_COLD_MS ?? 0)
if (coldMs > 0) await new Promise((resolve) => setTimeout(resolve, coldMs))

// Anything but frames: garbage, half a frame, somebody else's, a megabyte without an end.
if (process.env.GLEANER_NOISE === readAssignment()?.pool) {
  const others = 'HEALTH|{"component_id":"worker:main:0","status":"failed","phase":"stopping"}\n'
  const flood = Buffer.from(`${'noise\n'.repeat(500)}${others.repeat(500)}HEALTH|{"component_id":\n`)
  for (let n = 0; n < 200; n++) shout(flood)
  shout(Buffer.alloc(1_000_000, 'x'))
  shout(Buffer.from('\n'))
  say('flooded')
}

// Frames to which anything happened, as fast as they can be written.
const fuzzed = readAssignment()?.pool === 'noisy' ? Number(process.env.GLEANER_FUZZ ?? 0) : 0
if (fuzzed > 0) {
  const beganMs = performance.now()
  for (const bytes of fuzzedFrames('worker:noisy:0', fuzzed, Number(process.env.GLEANER_SEED ?? 0)))
    shout(bytes)
  // The last one may have been without an end.
  shout(Buffer.from('\n'))
  say('fuzzed', { frames: fuzzed, ms: Math.round(performance.now() - beganMs) })
}

function shout(bytes: Buffer): void {
  for (let rest = bytes; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(3, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}
const hooks = crashes && when === 'item' ? { aroundRun: () => process.exit(7) } : {}

/** What every worker process of these tests loads; the environment says where the database is. */
export default {
  database: 'sqlite:./unused.db',
  tasks,
  hooks,
  timings: process.env.GLEANER_REAL_TIMINGS === '1' ? {} : { lease: '3s', sweep: '200ms' },
}
