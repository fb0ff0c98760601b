import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Graph } from './graph.ts'
import { type Mutant, mutantsOf } from './mutate.ts'
import type { Answer, Order, Tests } from './orders.ts'
import { THEMES } from './themes.ts'

export const ROOT = join(import.meta.dirname, '../..')

/** A mutant that runs longer than that does not come to an end: that is noticed. */
const LIMIT_MS = 20_000
/** Modules that were loaded are never forgotten: after so many runs another process goes on. */
const RUNS_MAX = 150

export interface Candidate extends Mutant {
  /** Relative to the checkout. */
  file: string
}

export type Verdict = { candidate: Candidate; killedBy: string | null }

export function candidates(only = ''): Candidate[] {
  return globSync('src/model/*.ts', { cwd: ROOT })
    .filter((file) => file.includes(only))
    .sort()
    .flatMap((file) =>
      mutantsOf(file, readFileSync(join(ROOT, file), 'utf8')).map((mutant) => ({ ...mutant, file })),
    )
}

export interface ProveOptions {
  jobs: number
  onVerdict?: (verdict: Verdict) => void
}

/** For each mutant the test that notices it, if one does. Throws if a test fails without any. */
export async function prove(
  all: readonly Candidate[],
  { jobs, onVerdict }: ProveOptions,
): Promise<Verdict[]> {
  const graph = new Graph(ROOT, ['src/**/*.ts', 'test/{model,conformance}/*.ts', 'test/store/sqlite*.ts'])
  const verdicts: Verdict[] = []
  const waiting = all.values()
  const clean = new Set<string>()
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      const bench = new Bench()
      for (const candidate of waiting) {
        const anew = graph.dependents(join(ROOT, candidate.file))
        const tests = testsOf(candidate, anew)
        if (tests.length > 0 && !clean.has(candidate.file)) {
          clean.add(candidate.file)
          const failure = await bench.run({ candidate, anew, tests, isMutated: false })
          if (failure !== null) throw new Error(`without a mutant in ${candidate.file}: ${failure}`)
        }
        const killedBy =
          tests.length === 0 ? null : await bench.run({ candidate, anew, tests, isMutated: true })
        const verdict = { candidate, killedBy }
        verdicts.push(verdict)
        onVerdict?.(verdict)
      }
      bench.close()
    }),
  )
  return verdicts
}

/** The short ones first: most mutants are noticed by them. */
function testsOf({ file }: Candidate, anew: readonly string[]): Tests[] {
  const own = anew.filter((path) => /\/test\/model\/[^/]*(?<!-years)\.test\.ts$/.test(path)).sort()
  const groups = THEMES[basename(file, '.ts')]
  const suite = anew.find((path) => path.endsWith('/test/store/sqlite.conformance.test.ts'))
  return [
    ...own.map((path) => ({ file: path })),
    ...(groups === undefined || suite === undefined ? [] : [{ file: suite, groups }]),
  ]
}

interface Run {
  candidate: Candidate
  anew: readonly string[]
  tests: readonly Tests[]
  isMutated: boolean
}

/** A process that runs tests, and its successors. */
class Bench {
  #child: ChildProcess | undefined
  #runs = 0
  #answered: (failure: string | null) => void = () => {}

  async run({ candidate, anew, tests, isMutated }: Run): Promise<string | null> {
    const path = join(ROOT, candidate.file)
    const code = readFileSync(path, 'utf8')
    const { start, end, replacement } = candidate
    const mutated = isMutated ? code.slice(0, start) + replacement + code.slice(end) : undefined
    if (this.#runs >= RUNS_MAX) this.close()
    const child = this.#started()
    this.#runs += 1
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const limit = setTimeout(() => {
      this.close()
      resolve('it does not come to an end')
    }, LIMIT_MS)
    this.#answered = resolve
    child.send({ run: this.#runs, file: path, mutated, anew, tests } satisfies Order)
    return promise.finally(() => clearTimeout(limit))
  }

  #started(): ChildProcess {
    if (this.#child !== undefined) return this.#child
    const child = fork(join(import.meta.dirname, 'child.ts'), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // The databases of the conformance suite.
      env: { ...process.env, TMPDIR: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', ({ failure }: Answer) => this.#answered(failure))
    child.once('exit', () => {
      if (this.#child !== child) return
      this.close()
      this.#answered('its process ended')
    })
    this.#child = child
    return child
  }

  close(): void {
    const child = this.#child
    this.#child = undefined
    this.#runs = 0
    child?.kill('SIGKILL')
  }
}

export function nameOf({ file, id }: Candidate): string {
  return `${basename(file)}: ${id}`
}
