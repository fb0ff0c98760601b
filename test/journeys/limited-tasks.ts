import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'

export const QUEUE_LIMIT = 5
export const KEY_LIMIT = 2

/** Known to the test and to the processes that it starts: each run writes into a file when it begins and when it ends. */
export const watched = defineTask({
  name: 'watched',
  queue: 'watched',
  retry: { attempts: 1_000, backoff: 'fixed', base: 1, jitter: 0 },
  input: z.object({ key: z.string(), file: z.string() }),
  limit: { key: ({ key }) => key, concurrency: KEY_LIMIT },
  async run({ key, file }) {
    note(file, { what: 'began', key, pid: process.pid })
    await new Promise((resolve) => setTimeout(resolve, 5))
    note(file, { what: 'ended', key, pid: process.pid })
  },
})

export const queues = { watched: { concurrency: QUEUE_LIMIT } }

interface Note {
  what: 'began' | 'ended' | 'killed'
  pid: number
  key?: string
}

/** A line is appended whole, whoever else does. */
export function note(file: string, line: Note): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

function notesIn(file: string): Note[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  // What is just being written ends without a line's end.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Note)
}

/** The process that is most likely to run something just now. */
export function lastToBegin(file: string): number {
  return notesIn(file).findLast(({ what }) => what === 'began')!.pid
}

/** The most that ever ran at the same time: of all, and of one key. What a killed process ran ended with it. */
export function mostAtOnce(file: string): { ofAll: number; ofOneKey: number; runs: number } {
  const running: { pid: number; key: string }[] = []
  const most = { ofAll: 0, ofOneKey: 0, runs: 0 }
  for (const { what, pid, key } of notesIn(file)) {
    if (what === 'began') {
      running.push({ pid, key: key! })
      most.runs += 1
    } else {
      const isOver = (one: { pid: number; key: string }) =>
        one.pid === pid && (what === 'killed' || one.key === key)
      const over = what === 'killed' ? running.filter(isOver) : [running.find(isOver)!]
      for (const one of over) running.splice(running.indexOf(one), 1)
    }
    most.ofAll = Math.max(most.ofAll, running.length)
    most.ofOneKey = Math.max(
      most.ofOneKey,
      ...running.map((r) => running.filter((o) => o.key === r.key).length),
    )
  }
  return most
}
