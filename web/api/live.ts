import { useSyncExternalStore } from 'react'
import type { ServerEvents } from '../../src/http/wire/types.ts'
import { type Connection, EventStream } from './event-stream.ts'

/** How things are now, as the stream of events tells it. */
export interface Live {
  connection: Connection
  /** Since when it is so. */
  since: number
  counts: ServerEvents['counts'] | null
  discoveries: ServerEvents['discoveries']['discoveries'] | null
  /** When they were told of: what was read after that is newer. */
  discoveriesAt: number
  workers: ServerEvents['workers']['workers'] | null
  health: ServerEvents['health'] | null
  /** The tasks that are watched. */
  tasks: Readonly<Record<string, { task: ServerEvents['task']['task']; at: number }>>
  /** What was done here. */
  acts: number
  /** Grows with every change: what was read before may be old. */
  revision: number
}

const NOTHING: Live = {
  connection: 'connecting',
  since: Date.now(),
  counts: null,
  discoveries: null,
  discoveriesAt: 0,
  workers: null,
  health: null,
  tasks: {},
  acts: 0,
  revision: 0,
}
/** Lists are read again once in that time, at most. */
const REVISION_MS = 1_000

let live = NOTHING
let stream: EventStream | null = null
let watched: readonly string[] = []
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

export function listen(): void {
  stream?.close()
  live = { ...NOTHING, since: Date.now() }
  stream = new EventStream(pathOf(watched), { onEvent, onConnection })
}

export function stopListening(): void {
  stream?.close()
  stream = null
}

/** Tells of these tasks, too. */
export function watchTasks(ids: readonly string[]): void {
  watched = ids
  stream?.turnTo(pathOf(ids))
}

/** Somebody here has changed something, and need not wait until he is told. */
export function somethingChanged(): void {
  change({ revision: live.revision + 1, acts: live.acts + 1 })
}

export function useLive<T>(select: (live: Live) => T): T {
  return useSyncExternalStore(subscribe, () => select(live))
}

function pathOf(ids: readonly string[]): string {
  return ids.length === 0 ? '/events' : `/events?tasks=${ids.join(',')}`
}

function onConnection(connection: Connection): void {
  // Turning to something else is no news.
  if (connection === live.connection) return
  change({ connection, since: Date.now(), revision: live.revision + 1 })
}

function onEvent(event: string, data: unknown): void {
  if (event === 'task') {
    const { id, task } = data as ServerEvents['task']
    return change({ tasks: { ...live.tasks, [id]: { task, at: performance.now() } } })
  }
  if (event === 'counts') change({ counts: data as ServerEvents['counts'] })
  else if (event === 'health') change({ health: data as ServerEvents['health'] })
  else if (event === 'workers') change({ workers: (data as ServerEvents['workers']).workers })
  else if (event === 'discoveries') {
    const { discoveries } = data as ServerEvents['discoveries']
    change({ discoveries, discoveriesAt: performance.now() })
  }
  reviseSoon()
}

function reviseSoon(): void {
  if (timer !== undefined) return
  timer = setTimeout(() => {
    timer = undefined
    change({ revision: live.revision + 1 })
  }, REVISION_MS)
}

function change(next: Partial<Live>): void {
  live = { ...live, ...next }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
