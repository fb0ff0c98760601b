import { type ReactNode, useEffect, useRef } from 'react'
import { introduce, signInByAddress } from './api/client.ts'
import { listen, stopListening, useLive } from './api/live.ts'
import { useSession } from './api/session.ts'
import { Login } from './pages/login.tsx'
import { pageAt } from './pages/pages.tsx'
import { Loading } from './parts/states.tsx'
import { Toasts } from './parts/toast.tsx'
import { usePlace } from './router.tsx'
import { Shell } from './shell.tsx'

const INTRODUCE_AGAIN_MS = 2_000

export function App() {
  const { info, refused } = useSession()
  useIntroduction(info === null && !refused)
  const isIn = info !== null
  useEffect(() => {
    if (!isIn) return
    listen()
    return stopListening
  }, [isIn])
  if (refused) return <Login />
  return (
    <>
      <Shell>{isIn ? <Page /> : <Loading rows={8} label="Connecting" />}</Shell>
      <Toasts />
    </>
  )
}

function Page(): ReactNode {
  const { path } = usePlace()
  const { title, page } = pageAt(path)
  useEffect(() => {
    document.title = `${title} · Gleaner`
  }, [title])
  useFocusOnArrival(path)
  return page
}

/** What had the focus is gone with the page before: whoever uses the keyboard, or is read to, goes on where the new one begins. */
function useFocusOnArrival(path: string): void {
  const before = useRef(path)
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    document.getElementById('main')?.focus({ preventScroll: true })
  }, [path])
}

/** Until the server answers: it may be about to start. */
function useIntroduction(needed: boolean): void {
  const revision = useLive((live) => live.connection)
  useEffect(() => {
    if (!needed && revision !== 'live') return
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const attempt = () =>
      signInByAddress()
        .then(introduce)
        .catch(() => {
          if (!isOver) timer = setTimeout(attempt, INTRODUCE_AGAIN_MS)
        })
    void attempt()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [needed, revision])
}
