import { concurrency, limitKeys, limitQueue, ofKey } from './limiting.ts'
import type { Theme } from './theme.ts'
import { counts, type World } from './world.ts'

const STORES = 6
const KEYS = ['a', 'b', 'c']
const TASKS_OF_A_KEY = 60
/** Claims in a row that find nothing: others are just taking what there is, for so long at most. */
const VAIN_MAX = 100

export const racingLimits: Theme = (specify, expect) => {
  const workOff = async (world: World, beside: () => Promise<void>) => {
    let inVain = 0
    const work = async () => {
      const worker = await world.worker({}, await world.database.open())
      while (inVain < VAIN_MAX * STORES) {
        const claims = await worker.claim(2)
        inVain = claims.length === 0 ? inVain + 1 : 0
        await beside()
        if (claims.length > 0) await worker.completeAll(claims)
        else await new Promise(setImmediate)
      }
    }
    await Promise.all(Array.from({ length: STORES }, work))
  }

  specify('nothing that waits for a slot is forgotten, however many claim and end at once', async (world) => {
    await limitKeys(world, concurrency(1))
    await limitQueue(world, concurrency(4))
    for (const key of KEYS) await ofKey(world, key, TASKS_OF_A_KEY)
    await workOff(world, async () => {})
    expect(await world.counts()).toEqual(counts({ completed: KEYS.length * TASKS_OF_A_KEY }))
  })

  specify('nor what comes while others claim', async (world) => {
    await limitKeys(world, concurrency(1))
    let left = 60
    await workOff(world, async () => {
      left -= 1
      if (left >= 0) await ofKey(world, KEYS[left % KEYS.length]!, 1)
    })
    expect(await world.counts()).toEqual(counts({ completed: 60 }))
  })
}
