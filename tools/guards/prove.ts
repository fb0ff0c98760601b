import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyCheckout } from '../checkout-copy.ts'
import { type Guard, isNamed, removeGuard, rotOf } from './guard.ts'
import { type Report, runTests, type TestRun } from './vitest.ts'

/** `unproven`: nothing can be said, because the patch, the test or the run is not what the list says. */
export type Proof =
  | { kind: 'noticed'; failure: string }
  | { kind: 'unnoticed' }
  | { kind: 'unproven'; why: string }

export interface ProveOptions {
  root: string
  jobs: number
  limitMs: number
  signal?: AbortSignal
  onProof?: (guard: Guard, proof: Proof) => void
}

/** Takes out one guard after the other, each in a copy of the checkout, and sees whether its test notices. */
export async function proveGuards(
  guards: readonly Guard[],
  options: ProveOptions,
): Promise<Map<Guard, Proof>> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gleaner-guards-')))
  // The tests' PostgreSQL runs as a user of its own when we are root, and must get to its files.
  chmodSync(folder, 0o755)
  const proofs = new Map<Guard, Proof>()
  const settle = (guard: Guard, proof: Proof) => {
    proofs.set(guard, proof)
    options.onProof?.(guard, proof)
  }
  try {
    const benches = Array.from({ length: options.jobs }, (_, index) =>
      openBench(join(folder, `${index}`), options),
    )
    const sound = await settleUnsound(guards, benches[0]!, settle)
    const waiting = sound.values()
    // One shared iterator: each bench takes the next guard as soon as it is free.
    await Promise.all(
      benches.map(async (bench) => {
        for (const guard of waiting) settle(guard, await prove(guard, bench))
      }),
    )
    return proofs
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A copy of the checkout to take guards out of. */
interface Bench {
  root: string
  /** Stopped after the limit, which is one for each file. */
  run(files: string[], titles: string[]): Promise<Report>
}

function openBench(folder: string, { root: checkout, limitMs, signal }: ProveOptions): Bench {
  const [root, scratch] = [join(folder, 'checkout'), join(folder, 'tmp')]
  mkdirSync(scratch, { recursive: true })
  copyCheckout(checkout, root)
  return {
    root,
    async run(files, titles) {
      const report = await runTests(root, files, titles, { scratch, limitMs: limitMs * files.length, signal })
      signal?.throwIfAborted()
      return report
    },
  }
}

/**
 * Answers with the guards worth a try. First with nothing taken out: a test that fails anyway, or does not exist, would be
 * mistaken for one that notices.
 */
async function settleUnsound(
  guards: readonly Guard[],
  bench: Bench,
  settle: (guard: Guard, proof: Proof) => void,
): Promise<Guard[]> {
  if (guards.length === 0) return []
  const files = [...new Set(guards.map(({ test }) => test.file))]
  const report = await bench.run(
    files,
    guards.map(({ test }) => test.title),
  )
  return guards.filter((guard) => {
    const why = rotOf(bench.root, guard) ?? unsoundness(guard, report)
    if (why !== undefined) settle(guard, { kind: 'unproven', why })
    return why === undefined
  })
}

function unsoundness(guard: Guard, report: Report): string | undefined {
  const runs = runsOf(guard, report)
  if (runs.length === 0) return report.problem ?? `${guard.test.file} has no test "${guard.test.title}"`
  const bad = runs.find(({ status }) => status !== 'passed')
  return bad && `with the guard in place the test ${bad.status}: ${bad.failure ?? 'it never ran'}`
}

async function prove(guard: Guard, bench: Bench): Promise<Proof> {
  const putBack = removeGuard(bench.root, guard)
  try {
    const report = await bench.run([guard.test.file], [guard.test.title])
    const runs = runsOf(guard, report)
    const failed = runs.find(({ status }) => status === 'failed')
    if (failed) return { kind: 'noticed', failure: failed.failure ?? 'failed' }
    if (runs.some(({ status }) => status === 'passed')) return { kind: 'unnoticed' }
    return {
      kind: 'unproven',
      why: `without the guard the test gave no verdict: ${report.problem ?? 'skipped'}`,
    }
  } finally {
    putBack()
  }
}

/** More than one, when a suite is looped over several stores. */
function runsOf({ test }: Guard, { tests }: Report): TestRun[] {
  return tests.filter(({ file, name }) => file === test.file && isNamed(name, test.title))
}
