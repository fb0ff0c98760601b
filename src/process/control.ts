/** What a supervisor tells a worker: one line of JSON each, on the other direction of the health pipe. */
export type Control = { type: 'pause' } | { type: 'resume' } | { type: 'stop'; drainMs: number }

export function encodeControl(control: Control): string {
  return `${JSON.stringify(control)}\n`
}

/** Undefined: nothing that this worker understands. */
export function decodeControl(line: string): Control | undefined {
  try {
    const said = JSON.parse(line) as Partial<Control> | null
    if (said?.type === 'pause' || said?.type === 'resume') return { type: said.type }
    if (said?.type === 'stop' && Number.isFinite(said.drainMs))
      return { type: 'stop', drainMs: said.drainMs! }
  } catch {}
  return undefined
}
