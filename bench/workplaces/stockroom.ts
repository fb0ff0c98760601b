import type { Stage } from '../processes.ts'
import type { Stock } from '../scenarios/scenario.ts'

/** Fills each kind of place once for the whole run; the answer is what to copy from. */
export function stockroom(fill: (stock: Stock) => Promise<string>): (stock: Stock) => Promise<string> {
  const filled = new Map<string, Promise<string>>()
  return (stock) => {
    const key = JSON.stringify(stock)
    const source = filled.get(key) ?? fill(stock)
    filled.set(key, source)
    return source
  }
}

/** In a process of its own, so that the one being measured starts small. */
export async function fillPlace(stage: Stage, { stock, ...queue }: Stock, place: string): Promise<void> {
  await stage.play('seed', { ...queue, place, stock: [...stock] })
}
