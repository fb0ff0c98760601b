import { z } from 'zod'
import { serve } from '../../src/http/index.ts'
import { defineTask, openGleaner } from '../../src/index.ts'

// No `run`: programs elsewhere pull the work. `output` checks what they send.
export const countWords = defineTask({
  name: 'text.count',
  queue: 'text',
  input: z.object({ text: z.string() }),
  output: z.number(),
})

const gleaner = await openGleaner({
  database: process.env.GLEANER_DATABASE ?? 'sqlite:./pull.db',
  tasks: [countWords],
})
const token = process.env.GLEANER_TOKEN ?? 'a-token-for-the-pullers'
const server = await serve(gleaner, {
  port: Number(process.env.PORT ?? 8356),
  tokens: [{ name: 'puller', role: 'worker', token, queues: ['text'] }],
})
console.log(`GLEANER_URL=${server.url} GLEANER_TOKEN=${token}`)

const texts = ['to be or not to be', 'that is the question', '']
const handles = await gleaner.enqueueMany(
  countWords,
  texts.map((text) => ({ text })),
)
for (const handle of handles) console.log(`task ${handle.id}: ${await handle.result()} words`)
await server.close()
await gleaner.close()
