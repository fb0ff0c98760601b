import type { Contender } from '../contender.ts'
import { openGraphileWorker } from './open-graphile-worker.ts'

/** The settings of the figures in its documentation (Performance, Quick stats). */
export const contender: Contender = {
  open: (url, settings) =>
    openGraphileWorker(
      url,
      { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
      settings,
    ),
}
