import { defineResource, defineTask, type ResourceOptions, type Unavailable } from '../../../src/index.ts'

export interface Model {
  number: number
  embed(): string
}

/** A resource that can be taken away, and remembers what was done with it. */
export function model(options: Partial<ResourceOptions<Model>> = {}) {
  const calls: string[] = []
  const state = { available: true as boolean | Unavailable, loads: 0, loaded: 0 }
  const resource = defineResource<Model>({
    name: 'effnet',
    probe: () => {
      calls.push('probe')
      return state.available
    },
    load: async () => {
      calls.push('load')
      state.loads += 1
      state.loaded += 1
      const number = state.loads
      return { number, embed: () => `by ${number}` }
    },
    unload: ({ number }) => {
      calls.push(`unload ${number}`)
      state.loaded -= 1
    },
    ...options,
  })
  const embed = defineTask({
    name: 'embed',
    uses: { model: resource },
    run: (_, ctx) => ctx.use.model.embed(),
  })
  return {
    resource,
    embed,
    state,
    calls,
    count: (call: string) => calls.filter((one) => one === call).length,
  }
}

export const plain = defineTask({ name: 'plain', run: () => 'done' })
