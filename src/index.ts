export type { Duration } from './duration.ts'
export { GleanerError } from './errors.ts'
