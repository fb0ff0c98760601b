import { openBoth } from '../../workplaces/both.ts'
import { openWorkplace } from '../../workplaces/workplace.ts'
import { OWN } from '../peers.ts'
import type { Suite } from '../suite.ts'
import { signals } from './signals.ts'
import { steps } from './steps.ts'
import { suspended } from './suspended.ts'

export const suite: Suite = {
  name: 'durable',
  contenders: OWN,
  scenarios: [steps, suspended, signals],
  openWorkplace: (options) => openWorkplace(options, openBoth),
  notes: '- Gleaner alone, on both databases. The peers are not measured yet.',
}
