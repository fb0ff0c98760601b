import type { CallEntry } from './entry.ts'

/** Calls the handler with these entries. Null: each of them has its outcome. Otherwise what it threw: some have none yet. */
export type CallBatch = (entries: readonly CallEntry[]) => Promise<{ error: unknown } | null>

/** After so many culprits of one batch, halving costs more than calling for each item. */
const HALVED_CULPRITS_MAX = 2

/**
 * A call for several entries threw: which of them is to blame? The first half is called again. If it throws, the culprit is in it, and the
 * other half is presumed good. All that are presumed good go together in one more call. So one culprit among 100 costs 8 calls at most.
 */
export async function findCulprits(
  entries: readonly CallEntry[],
  error: unknown,
  call: CallBatch,
): Promise<void> {
  let suspects = unsettled(entries)
  let thrown = error
  for (let culprits = 0; culprits < HALVED_CULPRITS_MAX; culprits++) {
    const good = await blameOne(suspects, thrown, call)
    if (good.length === 0) return
    const failure = await call(good)
    if (failure === null) return
    thrown = failure.error
    suspects = unsettled(good)
  }
  for (const entry of suspects) await callAlone(entry, call)
}

/** Ends one entry with the error, and answers which are presumed good. */
async function blameOne(
  suspects: readonly CallEntry[],
  error: unknown,
  call: CallBatch,
): Promise<CallEntry[]> {
  const good: CallEntry[] = []
  let rest = suspects
  let thrown = error
  /** A call of fewer than all of them threw, so it was no passing error of the first call. */
  let isProven = suspects.length === 1
  while (rest.length > 1) {
    const half = rest.slice(0, Math.ceil(rest.length / 2))
    const other = rest.slice(half.length)
    const failure = await call(half)
    if (failure === null) rest = unsettled(other)
    else {
      good.push(...other)
      thrown = failure.error
      isProven = true
      rest = unsettled(half)
    }
  }
  const culprit = rest[0]
  if (culprit === undefined) return unsettled(good)
  // No half threw, so nothing is presumed good, and the call that it would cost is left for this one.
  if (isProven) culprit.reject(thrown)
  else await callAlone(culprit, call)
  return unsettled(good)
}

async function callAlone(entry: CallEntry, call: CallBatch): Promise<void> {
  if (entry.isOver) return
  const failure = await call([entry])
  if (failure !== null && !entry.isOver) entry.reject(failure.error)
}

function unsettled(entries: readonly CallEntry[]): CallEntry[] {
  return entries.filter(({ isOver }) => !isOver)
}
