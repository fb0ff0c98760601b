import { openBoth } from '../../workplaces/both.ts'
import { openWorkplace } from '../../workplaces/workplace.ts'
import { ALL } from '../peers.ts'
import type { Suite } from '../suite.ts'
import { atRest } from './at-rest.ts'
import { noopProcesses, waitingProcesses } from './processes.ts'
import { manyKeys, manyNames } from './spread.ts'

export const suite: Suite = {
  name: 'scaling',
  contenders: ALL,
  scenarios: [noopProcesses, waitingProcesses, atRest, manyNames, manyKeys],
  openWorkplace: (options) => openWorkplace(options, openBoth),
  notes: '- Names, queues and limit keys are only measured on Gleaner, against itself with one of them.',
}
