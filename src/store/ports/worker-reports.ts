/** What workers without a supervisor report of themselves: for people to read, never for decisions. */
export interface WorkerReportStore {
  /** Replaces what these sessions reported, and removes what ended ones did. */
  reportWorkers(reports: readonly StoredReport[]): Promise<void>
  /** Of sessions that may have ended in the meantime. */
  workerReports(): Promise<StoredReport[]>
}

export interface StoredReport {
  session: string
  /** JSON. */
  report: string
}
