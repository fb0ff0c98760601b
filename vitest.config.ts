import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // As many as there are cores, of which each test file leaves some idle: it waits for processes and disks.
    maxWorkers: '100%',
    // Where the processor has such keys, V8 aborts now and then after many threads have come and gone
    // ('Check failed: jit_page.has_value()'), and here each engine that works has one.
    execArgv: ['--no-memory-protection-keys'],
    globalSetup: ['test/postgres-server.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
