/** The rooms of `src/`, top to bottom (DESIGN section 7). A room imports only from rooms above it, and itself. */
const ROOMS = [
  'first line',
  'model',
  'define',
  'telemetry',
  'store',
  'observe',
  'queue',
  'discovery',
  'maintenance',
  'worker',
  'engine',
  'config',
  'health',
  'process',
  'supervisor',
  'http',
  'cli',
  'testing',
  'index.ts',
] as const

export type Room = (typeof ROOMS)[number]

/** The room of a path inside the checkout; undefined when it is in none (outside `src/`, or a folder we do not know). */
export function roomOf(path: string): Room | undefined {
  const [top, first, ...rest] = path.split('/')
  if (top !== 'src' || first === undefined) return undefined
  if (rest.length > 0) return ROOMS.find((room) => room === first)
  return first === 'index.ts' ? 'index.ts' : 'first line'
}

export function isAbove(upper: Room, lower: Room): boolean {
  return ROOMS.indexOf(upper) < ROOMS.indexOf(lower)
}

export function roomsAbove(room: Room): readonly Room[] {
  return ROOMS.slice(0, ROOMS.indexOf(room))
}
