import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    globalSetup: ['test/postgres-server.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
