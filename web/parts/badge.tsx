/** Statuses have one colour everywhere, and are also said in words. */
const TONES: Record<string, string> = {
  completed: 'green',
  done: 'green',
  healthy: 'green',
  running: 'blue',
  claimed: 'blue',
  processing: 'blue',
  queued: 'violet',
  waiting: 'violet',
  scheduled: 'slate',
  suspended: 'slate',
  result: 'green',
  signal: 'green',
  wait: 'amber',
  sleep: 'slate',
  sent: 'violet',
  pending: 'slate',
  starting: 'slate',
  initializing: 'slate',
  loading_models: 'slate',
  idle: 'green',
  returned: 'slate',
  later: 'slate',
  stopped: 'slate',
  stopping: 'slate',
  cancelled: 'amber',
  paused: 'amber',
  'backing-off': 'amber',
  backing_off: 'amber',
  unhealthy: 'amber',
  lease: 'amber',
  timeout: 'red',
  failed: 'red',
  error: 'red',
  crash: 'red',
  crashed: 'red',
  permanent: 'red',
  quarantined: 'red',
}

export function toneOf(status: string): string {
  return TONES[status] ?? 'slate'
}

export function Badge({ status, children }: { status: string; children?: string }) {
  return (
    <span className="badge" data-tone={toneOf(status)}>
      {children ?? status.replaceAll('_', ' ')}
    </span>
  )
}
