import type { Contender } from '../contender.ts'
import { openGraphileWorker } from './open-graphile-worker.ts'

/** As it comes: each of its hands fetches and completes by itself. */
export const contender: Contender = {
  open: (url, settings) => openGraphileWorker(url, {}, settings),
}
