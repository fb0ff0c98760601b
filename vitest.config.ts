import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes a quarter of a minute or more begins first: last, it would leave the other cores idle. */
const LONG = [
  'torture/kill-points',
  'store/postgres.conformance',
  'examples/examples',
  'torture/random-kills',
  'web/journeys',
  'store/postgres.model',
  'docs/site',
  'cli/everywhere',
  'torture/row-kills',
  'store/postgres.rows-model',
  'house/guards',
  'web/pages',
  'supervisor/bad-times',
  'house/package',
  'store/sqlite.conformance',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return found < 0 ? LONG.length : found
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

/**
 * Each of these has a process of its own: they load a second SQLite library, measure memory or change settings of their process.
 * The others share processes, one file after the other, and with them the modules and the schemas that they have made: half of what
 * a file costs.
 */
const ALONE = [
  'test/{torture,house,docs,web,examples,cli}/**/*.test.ts',
  'test/supervisor/frames.test.ts',
  'test/store/node-sqlite.conformance.test.ts',
  'test/store/sqlite/{libraries,two-libraries,waking}.test.ts',
  'test/process/{foreign,frame-fuzz,frame-reader}.test.ts',
  'test/maintenance/file-modes.test.ts',
]

/** Hundreds of processes: their start is most of what they cost, and two thirds of it is compiling. */
process.env.NODE_COMPILE_CACHE = `${import.meta.dirname}/node_modules/.cache/gleaner-tests`

const common = {
  pool: 'forks' as const,
  // Where the processor has such keys, V8 aborts now and then after many threads have come and gone
  // ('Check failed: jit_page.has_value()'), and here each engine that works has one.
  execArgv: ['--no-memory-protection-keys'],
  // Only what hangs should ever meet them, however busy the machine is.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000 } },
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // More than there are cores, of which each test file leaves some idle: it waits for processes and disks.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    globalSetup: ['test/quick-start/prepare.ts', 'test/postgres-server.ts'],
    projects: [
      { test: { ...common, name: 'alone', include: ALONE } },
      { test: { ...common, name: 'shared', include: ['test/**/*.test.ts'], exclude: ALONE, isolate: false } },
    ],
  },
})
