import { parentPort, workerData } from 'node:worker_threads'
import { keepRenewing, type Renewing } from './renewing.ts'

/** The keeper's thread: renews the sessions of its process, also while the event loop of the process is blocked. */
keepRenewing(parentPort!, workerData as Renewing)
