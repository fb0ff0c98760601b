/** Whether the server accepts writes, and which of its processes says so. */
export const WRITABLE = `SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_is_in_recovery() AS standby,
  pg_catalog.current_setting('transaction_read_only') = 'on' AS read_only`

export interface Writable {
  standby: boolean
  read_only: boolean
}

/** Throws what the server would say to a write. */
export function refuseReadOnly({ standby, read_only }: Writable): void {
  if (!standby && !read_only) return
  throw Object.assign(new Error(standby ? 'the server is a standby' : 'the server accepts no writes'), {
    code: '25006',
  })
}
