import type { Store } from '../../src/store/ports/store.ts'
import { debounce, enqueueKeyed as enqueue, LOOK_MS, replace } from './keyed.ts'
import type { Theme } from './theme.ts'
import { counts } from './world.ts'

export const racingKeys: Theme = (specify, expect) => {
  specify(
    'what is enqueued last is run last, whoever races with whom, and never two at once',
    async (world) => {
      const other = await world.database.open()
      const third = await world.database.open()
      const ran: number[] = []
      let running = 0
      let over = false
      const turn = () => new Promise(setImmediate)
      const work = async (store: Store) => {
        const worker = await world.worker({}, store)
        for (let round = 0, rest = 0; round < 5_000 && rest < 3; round++) {
          rest = over ? rest + 1 : 0
          for (const claim of await worker.claim(1, 1)) {
            running += 1
            if (running > 1) throw new Error('two of one key at the same time')
            ran.push(JSON.parse(claim.input!))
            await turn()
            running -= 1
            await worker.complete(claim)
            rest = 0
          }
          world.clock.advance(LOOK_MS)
          await turn()
        }
      }
      const firstRun = async () => {
        for (let round = 0; round < 5_000 && ran.length === 0; round++) await turn()
      }
      const produce = async (store: Store, from: number) => {
        for (let i = 0; i < 60; i++) {
          // However fast the producers are: some of it comes after a run.
          if (i === 30) await firstRun()
          await enqueue(store, i % 2 ? replace : debounce, from + i)
        }
      }
      const working = Promise.all([work(third), work(world.store)])
      try {
        await Promise.all([produce(world.store, 0), produce(other, 1_000)])
        await enqueue(other, replace, 9_999)
      } finally {
        over = true
      }
      await working
      expect(ran.at(-1)).toBe(9_999)
      expect(ran.length).toBeGreaterThan(1)
      // Each producer's inputs are run in the order in which they were given.
      for (const isOne of [(n: number) => n < 1_000, (n: number) => n >= 1_000]) {
        const own = ran.filter(isOne)
        expect(own).toEqual([...own].sort((a, b) => a - b))
      }
      expect(await world.counts()).toEqual(counts({ completed: ran.length }))
    },
  )
}
