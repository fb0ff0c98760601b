import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { record } from './recording.ts'
import { cutPower, described } from './states.ts'

/** Of each recording. */
const STATES_EACH = 100
const ROUNDS = 300
/** How often syncs fail, from one recording to the next; 0: never. */
const FAILS_ONE_IN = [12, 5, 30, 0] as const
/** In recordings in which syncs fail. */
const DATABASE_FAILS_ONE_IN = 2

export interface PowerCuts {
  states: number
  entries: number
  failedSyncs: number
  refused: number
  broken: string[]
}

/** Records processes at work again and again, and cuts the power at random moments of each recording. */
export async function cutPowerOften(
  { seed, states }: { seed: number; states: number },
  onRecording: (so: PowerCuts) => void,
): Promise<PowerCuts> {
  const all: PowerCuts = { states: 0, entries: 0, failedSyncs: 0, refused: 0, broken: [] }
  for (let n = 0; all.states < states; n++) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gleaner-power-')))
    try {
      const failsOneIn = FAILS_ONE_IN[n % FAILS_ONE_IN.length]!
      const databaseFailsOneIn = failsOneIn === 0 ? 0 : DATABASE_FAILS_ONE_IN
      const recording = await record(folder, {
        seed: seed + n,
        failsOneIn,
        databaseFailsOneIn,
        rounds: ROUNDS,
      })
      const cuts = Math.min(STATES_EACH, states - all.states)
      const broken = await cutPower(recording, { seed: seed + n, states: cuts, folder })
      all.states += cuts
      all.entries += recording.entries.length
      all.failedSyncs += recording.entries.filter(({ kind }) => kind === 'failed').length
      all.refused += recording.refusals.length
      all.broken.push(...described(broken).map((what) => `seed ${seed + n}: ${what}`))
      onRecording(all)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return all
}

export function powerSummary({ states, entries, failedSyncs, refused, broken }: PowerCuts): string {
  return `${states} power cuts in ${entries} writes and syncs, ${failedSyncs} of them failed; ${refused} calls refused; ${broken.length} states broken`
}
