import '../node-version.ts'

export type { HealthChange, HealthStatus } from '../health/status.ts'
export type { ReportedError, ReportedItem, ReportLevel, WorkReport } from '../process/work-report.ts'
export type { Logger } from './logger.ts'
export {
  type RunningSupervisor,
  type StartSupervisorOptions,
  type SupervisorEvents,
  startSupervisor,
} from './start-supervisor.ts'
