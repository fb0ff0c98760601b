import { readSync } from 'node:fs'
import { replaceDatabase } from '../../../src/store/sqlite/maintenance/restore.ts'
import { argument, say } from '../../journeys/program.ts'

/** Restores, and stands still in the middle of it until it is told to go on. */
const { database, path } = argument<{ database: string; path: string }>()
let hasWaited = false
await replaceDatabase({ kind: 'restore', database: database.slice('sqlite:'.length), path }, ({ phase }) => {
  if (phase !== 'copying' || hasWaited) return
  hasWaited = true
  say('copying')
  readSync(0, Buffer.alloc(1))
})
say('restored')
