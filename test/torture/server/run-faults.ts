import { hasDebian } from './cluster.ts'
import { FIELDS, type Kind } from './faults.ts'
import { mayMount } from './small-disk.ts'
import { brokenByFaults, FAULTS, type FaultBill, faultSummary, tableOf, tortureByFaults } from './torture.ts'

/** After which a silent connection is noticed, if nobody says otherwise. */
const NOTICED_MS = 20_000

export const KINDS = Object.keys(FIELDS) as Kind[]

export interface RunOptions {
  /** Default all. */
  kind: Kind | undefined
  /** Of each kind; default as many as belong to it. */
  count: number | undefined
  seed: number
  verbose: boolean
}

/** Each kind with half of its faults on tasks without limits and half on tasks with some. True: nothing was broken. */
export async function sufferFaults({ kind: only, count, seed, verbose }: RunOptions): Promise<boolean> {
  const bills: FaultBill[] = []
  let isSound = true
  for (const kind of KINDS) {
    if (only !== undefined && kind !== only) continue
    const why = whyNot(kind)
    if (why !== undefined) {
      console.error(`${kind}: left out: ${why}`)
      continue
    }
    const all = count ?? FAULTS[kind]
    const halves = { plain: Math.ceil(all / 2), limited: Math.floor(all / 2) }
    for (const work of ['plain', 'limited'] as const) {
      if (halves[work] === 0) continue
      console.log(
        `${kind}: ${halves[work]} faults, tasks ${work === 'plain' ? 'without' : 'with'} limits, seed ${seed}`,
      )
      const onFault = (message: string) => verbose && console.log(`  ${message}`)
      const bill = await tortureByFaults(kind, {
        count: halves[work],
        seed,
        work,
        timings: {},
        noticedMs: NOTICED_MS,
        onFault,
      })
      console.log(faultSummary(bill))
      for (const broken of brokenByFaults(bill).slice(0, 20)) console.error(`${kind}: BROKEN: ${broken}`)
      isSound &&= brokenByFaults(bill).length === 0
      bills.push(bill)
    }
  }
  console.log(tableOf(together(bills)))
  return isSound
}

function whyNot(kind: Kind): string | undefined {
  if (kind === 'promotion' && !hasDebian)
    return 'it needs PostgreSQL 15 of Debian (apt-get install postgresql-15)'
  if (kind.startsWith('disk') && !mayMount) return 'mounting a small file system needs root on Linux'
  return undefined
}

/** The times of one kind. */
function together(bills: readonly FaultBill[]): FaultBill[] {
  const byKind = new Map<Kind, FaultBill>()
  for (const bill of bills) {
    const before = byKind.get(bill.kind)
    if (before === undefined) byKind.set(bill.kind, bill)
    else
      for (const [variant, times] of bill.goesOnMs)
        before.goesOnMs.set(variant, [...(before.goesOnMs.get(variant) ?? []), ...times])
  }
  return [...byKind.values()]
}
