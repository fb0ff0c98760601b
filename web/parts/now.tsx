import { useSyncExternalStore } from 'react'
import { useSession } from '../api/session.ts'
import { duration, fullTime, roughly, time } from '../text/format.ts'

/** A second hand that all share: what shows an age changes together, and only while somebody looks. */

let now = Date.now()
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    if (document.hidden) return
    now = Date.now()
    for (const one of listeners) one()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** By the server's clock, as far as we know it. */
export function useNow(): number {
  const { info } = useSession()
  const mine = useSyncExternalStore(subscribe, () => now)
  return mine + (info?.ahead ?? 0)
}

/** `2 min ago`, or `in 5 s`; the exact time when pointed at. */
export function Ago({ at }: { at: number }) {
  const ms = useNow() - at
  const words = Math.abs(ms) < 1_500 ? 'now' : ms > 0 ? `${roughly(ms)} ago` : `in ${roughly(-ms)}`
  return (
    <time className="ago" dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {words}
    </time>
  )
}

/** For how long, and counting. */
export function Since({ at }: { at: number }) {
  const now = useNow()
  const ms = now - at
  return <span className="num">{ms < 1_000 ? '0 s' : duration(Math.floor(ms / 1_000) * 1_000)}</span>
}

export function At({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {time(at)}
    </time>
  )
}
