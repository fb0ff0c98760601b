import { openStore } from '../../../src/store/by-url/open.ts'
import type { SupervisorSetup } from '../../../src/supervisor/contract.ts'
import { openSupervisor } from '../../../src/supervisor/supervisor.ts'
import { argument, say, whenTold } from '../../journeys/program.ts'

/** A supervisor in a process of its own: says what it logs, and each change of a worker. */
type Argument = { database: string } & Pick<
  SupervisorSetup,
  'config' | 'pools' | 'timings' | 'limits' | 'env'
>

const { database, ...options } = argument<Argument>()
const store = await openStore(database)
const log = (details: object, message: string) => say('log', { ...details, message })
const shown = new Map<string, string>()
const supervisor = await openSupervisor({
  ...options,
  store,
  name: 'main',
  logger: { debug: log, info: log, warn: log, error: log },
  onChange: ({ id, status, health, phase, pid }) => {
    const now = JSON.stringify([status, health, phase, pid])
    if (shown.get(id) === now) return
    shown.set(id, now)
    say('worker', { id, status, health, phase, pid })
  },
}).catch((error) => {
  say('refused', { code: error.code, message: error.message })
  process.exit(1)
})
say('supervising', { pid: process.pid })

whenTold('stop', async ({ drain }) => {
  await supervisor.stop({ drain })
  await store.close()
  say('stopped')
})
