import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** `skipped` also means: its file was read, but the test never ran (a hook failed before it). */
export interface TestRun {
  file: string
  /** Groups included, joined by ` > `. */
  name: string
  status: 'passed' | 'failed' | 'skipped'
  failure: string | undefined
}

/** `problem` says why there may be no test in `tests`: a file that does not load, or a run that never ended. */
export interface Report {
  tests: TestRun[]
  problem: string | undefined
}

/** The part of vitest's JSON report that we read. */
interface JsonReport {
  testResults: {
    name: string
    message: string
    assertionResults: {
      ancestorTitles: string[]
      title: string
      status: string
      failureMessages: string[]
    }[]
  }[]
}

export interface RunOptions {
  /** For the report, and for what tests leave in their temporary folder when they fail. */
  scratch: string
  limitMs: number
  signal?: AbortSignal
}

/** Runs the tests of these titles in a checkout, and says of each how it ended. */
export async function runTests(
  root: string,
  files: string[],
  titles: string[],
  options: RunOptions,
): Promise<Report> {
  const output = join(options.scratch, 'report.json')
  rmSync(output, { force: true })
  const pattern = `(${titles.map(asPattern).join('|')})$`
  const args = ['run', ...files, '-t', pattern, '--reporter=json', `--outputFile=${output}`]
  // A cached module could be the one from before the patch.
  const ended = await vitest(root, [...args, '--no-cache', '--no-fsModuleCache'], options)
  if (ended.outOfTime) return { tests: [], problem: `still running after ${options.limitMs / 1000} s` }
  if (!existsSync(output)) return { tests: [], problem: lastLine(ended.errors) ?? 'vitest wrote no report' }
  return readReport(root, JSON.parse(readFileSync(output, 'utf8')))
}

/** The full names of all tests in these files, without running them. */
export async function listTests(root: string, files: string[], options: RunOptions) {
  const output = join(options.scratch, 'tests.json')
  // Loaded, not parsed: this finds titles made by a loop or by a shared suite. In one process, which loads a shared module once.
  const args = ['list', ...files, '--no-staticParse', '--no-isolate', '--maxWorkers=1', `--json=${output}`]
  const ended = await vitest(root, args, options)
  if (!existsSync(output)) throw new Error(`vitest could not list the tests: ${ended.errors}`)
  const tests: { name: string; file: string }[] = JSON.parse(readFileSync(output, 'utf8'))
  return tests.map(({ name, file }) => ({ name, file: relative(root, file) }))
}

function readReport(root: string, { testResults }: JsonReport): Report {
  const tests = testResults.flatMap<TestRun>(({ name: file, assertionResults }) =>
    assertionResults.map<TestRun>(({ ancestorTitles, title, status, failureMessages }) => ({
      file: relative(root, file),
      name: [...ancestorTitles, title].join(' > '),
      status: status === 'passed' || status === 'failed' ? status : 'skipped',
      failure: failureMessages.map(gist)[0],
    })),
  )
  return { tests, problem: testResults.map(({ message }) => gist(message)).find(Boolean) }
}

function asPattern(title: string): string {
  return title.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

/** The first words of an error, on one line: colours and stack frames would drown them. */
function gist(message: string): string {
  const lines = stripVTControlCharacters(message).split('\n')
  const words = lines.filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
  return words.slice(0, 2).join(' ').slice(0, 200)
}

function vitest(root: string, args: string[], { scratch, limitMs, signal }: RunOptions) {
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: root,
    // A guard may make a difference in one gap alone.
    env: { ...ownEnvironment(), TMPDIR: scratch, GLEANER_EVERY_GAP: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
    // Its own process group: workers that a failing test started must not outlive it.
    detached: true,
  })
  const killGroup = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Nobody left: what we want.
    }
  }
  return new Promise<{ outOfTime: boolean; errors: string }>((resolve, reject) => {
    let outOfTime = false
    let errors = ''
    const limit = setTimeout(() => {
      outOfTime = true
      killGroup()
    }, limitMs)
    signal?.addEventListener('abort', killGroup)
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.once('error', reject)
    child.once('exit', killGroup)
    child.once('close', () => {
      clearTimeout(limit)
      signal?.removeEventListener('abort', killGroup)
      resolve({ outOfTime, errors })
    })
  })
}

/** Without what an outer vitest, of which we may be a test, tells its own workers. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name)),
  )
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1) || undefined
}
