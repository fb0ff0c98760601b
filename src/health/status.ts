/** What a monitor knows of a component. What a component is, and what a status means for it, is up to its owner. */
export type HealthStatus = 'pending' | 'healthy' | 'unhealthy' | 'failed'

/** An object that knows the health of components. */
export interface HealthOwner {
  /** The monitor calls this at each interval. Answer from memory: code that blocks here blocks the process. */
  getStatus(id: string): HealthStatus | Promise<HealthStatus>
  /** What the component works on now. The history keeps it, and the monitor does not interpret it. */
  getCurrentItem?(id: string): string | null
}

/** The health of a component, as the monitor last saw it. */
export interface SeenHealth {
  /** The id under which it was registered. */
  id: string
  /** Its status. */
  status: HealthStatus
  /** Since when it has this status, in milliseconds since 1970. */
  since: number
}

/** A change of a component's status. */
export interface HealthChange extends SeenHealth {
  /** The status before. Null: the component has just been registered. */
  before: HealthStatus | null
}

/** What the id of a component may be: it stands in addresses, logs and tables. */
export const COMPONENT_ID = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}$/
