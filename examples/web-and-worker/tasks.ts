// What both processes share: names and schemas, no code. The web process never loads what a worker needs.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts' // in your own project: from 'gleaner'

export const database =
  process.env.GLEANER_DATABASE ?? `sqlite:${join(tmpdir(), 'gleaner-web-and-worker.db')}`

export const thumbnail = defineTask({
  name: 'thumbnail',
  input: z.object({ url: z.string(), width: z.number().int().min(16).max(4096) }),
  output: z.object({ path: z.string(), bytes: z.number() }), // types the result, because there is no `run` here
})
