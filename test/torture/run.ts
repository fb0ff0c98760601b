import { parseArgs } from 'node:util'
import { brokenPromises, summary, torture } from './random-kills.ts'

// npm run torture [-- --kills <n> --seed <n>]
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

const kills = Number(values.kills)
const seed = Number(values.seed)
console.log(`Killing ${kills} times at random moments, seed ${seed}`)

const damage = await torture({
  seed,
  kills,
  producers: 1,
  workers: 3,
  onKill: (count) => count % 50 === 0 && console.log(`${count} kills`),
})
console.log(summary(damage))
process.exitCode = brokenPromises(damage).length === 0 ? 0 : 1
