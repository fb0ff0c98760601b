import type { ConfigOptions } from './types.ts'

/** Gives a `gleaner.config.ts` its types. It is checked when a program loads it. */
export function defineConfig<C extends ConfigOptions>(config: C): C {
  return config
}
