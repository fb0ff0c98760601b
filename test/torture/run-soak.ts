import { parseArgs } from 'node:util'
import { SqliteGround } from './ground/sqlite.ts'
import { brokenSoakPromises, soak, soakSummary } from './soak.ts'

// npm run soak [-- --minutes <n> --seed <n>]
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('--minutes: a number above 0; --seed: a whole number.')
  process.exit(2)
}

console.log(`The quickstart for ${minutes} minutes, a worker killed every 3 s or so, seed ${seed}`)
let [samples, kills] = [0, 0]
const ground = new SqliteGround()
const bill = await soak(ground, {
  forMs: minutes * 60_000,
  killEveryMs: 3_000,
  sampleEveryMs: 1_000,
  seed,
  onKill: () => {
    kills += 1
  },
  onSample: ({ rss, descriptors, processes }) => {
    if (samples++ % 30 > 0) return
    console.log(
      `${kills} kills, ${Math.round(rss / 1e6)} MB, ${descriptors} descriptors, ${processes} processes`,
    )
  },
})
console.log(soakSummary(bill))
for (const broken of brokenSoakPromises(bill)) {
  console.error(broken)
  process.exitCode = 1
}
await ground.clear()
