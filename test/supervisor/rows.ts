import { defineDiscovery } from '../../src/index.ts'
import { say } from '../journeys/program.ts'

export const FILES = `CREATE TABLE files (id INTEGER PRIMARY KEY, what TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0);
CREATE INDEX files_todo ON files (id) WHERE done = 0`

/** A row says what is done to its worker. */
export const files = defineDiscovery({
  name: 'files',
  table: 'files',
  key: 'id',
  where: 'done = 0',
  timeout: '500ms',
  retry: { attempts: 5, base: '1h' },
  run: async (row: Record<string, any>, ctx) => {
    say('running', { id: ctx.id, attempt: ctx.attempt, pid: process.pid })
    if (row.what === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600_000)
    if (row.what === 'kill' && ctx.attempt === 1) process.kill(process.pid, 'SIGKILL')
    if (row.what === 'kill' && ctx.attempt === 1) await new Promise(() => {})
    return 1
  },
  done: (done) => ({ done }),
})
