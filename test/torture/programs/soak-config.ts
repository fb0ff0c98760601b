import quickstart from '../../../examples/quickstart/gleaner.config.ts'
import { defineConfig } from '../../../src/index.ts'

/** The quickstart's, whose workers are killed all the time and never given up for it. */
export default defineConfig({
  ...quickstart,
  // What has ended goes soon: a soak of days must not be one of a growing file.
  retention: { completed: '1m', failed: '1m', cancelled: '1m' },
  timings: { prune: '10s' },
  supervisor: {
    name: 'soak',
    timings: { drain: '5s', backoff: '50ms', backoffMax: '500ms' },
    limits: { inWindow: 1_000_000, total: 1_000_000 },
  },
})
