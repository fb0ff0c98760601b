import { serve } from '../../../src/http/index.ts'
import { openGleaner } from '../../../src/index.ts'
import { argument, say, whenTold } from '../../journeys/program.ts'
import { plain } from '../crowd.ts'

const { database } = argument<{ database: string }>()
const gleaner = await openGleaner({ database, tasks: [plain] })
const { url } = await serve(gleaner, { port: 0, local: true })
let highest = 0
// How much it is at its height; a collection now and then shows what is really held.
setInterval(() => {
  highest = Math.max(highest, process.memoryUsage().rss)
}, 20)
say('serving', { url })
whenTold('measure', () => {
  say('memory', { now: process.memoryUsage().rss, highest })
  highest = 0
})
