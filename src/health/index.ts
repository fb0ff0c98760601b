import '../node-version.ts'

export type { HealthNote, HistoryOptions, HistoryTarget } from './history.ts'
export { type HealthEvents, HealthMonitor, type HealthMonitorOptions } from './monitor.ts'
export type { HealthChange, HealthOwner, HealthStatus, SeenHealth } from './status.ts'
