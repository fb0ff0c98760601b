import type { ReactNode } from 'react'
import { signOut } from './api/client.ts'
import { useLive } from './api/live.ts'
import { useSession } from './api/session.ts'
import mark from './mark.svg'
import { Action } from './parts/action.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Since } from './parts/now.tsx'
import { Link, usePlace } from './router.tsx'
import { plural } from './text/format.ts'
import { ThemeButton } from './theme.tsx'

const NAVIGATION: readonly { to: string; label: string; icon: IconName }[] = [
  { to: '/', label: 'Overview', icon: 'overview' },
  { to: '/tasks', label: 'Tasks', icon: 'tasks' },
  { to: '/queues', label: 'Queues', icon: 'queues' },
  { to: '/discoveries', label: 'Discoveries', icon: 'discoveries' },
  { to: '/workers', label: 'Workers', icon: 'workers' },
  { to: '/system', label: 'System', icon: 'system' },
]

/** What stands around every page. */
export function Shell({ children }: { children: ReactNode }) {
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link to="/" className="brand">
          <img src={mark} alt="" width="26" height="26" />
          Gleaner
        </Link>
        <Navigation />
        <Corner />
      </header>
      <div className="banners">
        <Disconnected />
        <AllPaused />
      </div>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function Navigation() {
  const { path } = usePlace()
  const alerts = useLive((live) => live.health?.alerts.length ?? 0)
  const isHere = (to: string) => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`))
  return (
    <nav aria-label="Pages">
      {NAVIGATION.map(({ to, label, icon }) => (
        <Link key={to} to={to} aria-current={isHere(to) ? 'page' : undefined}>
          <Icon name={icon} size={20} />
          <span>{label}</span>
          {to === '/' && alerts > 0 && (
            <span className="nav-count" title={plural(alerts, 'alert')}>
              {alerts}
              <span className="visually-hidden"> {alerts === 1 ? 'alert' : 'alerts'}</span>
            </span>
          )}
        </Link>
      ))}
    </nav>
  )
}

function Corner() {
  const { info } = useSession()
  return (
    <div className="corner">
      <ConnectionState />
      {info !== null && (
        <span className="role" title={`${info.host}, Gleaner ${info.version}`}>
          {info.role}
        </span>
      )}
      <ThemeButton />
      {info?.signedIn && (
        <button
          type="button"
          className="icon-button"
          aria-label="Sign out"
          title="Sign out"
          onClick={() => void signOut()}
        >
          <Icon name="out" />
        </button>
      )}
    </div>
  )
}

const WORDS = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' }

function ConnectionState() {
  const connection = useLive((live) => live.connection)
  return (
    <span className="connection" data-state={connection} role="status">
      {WORDS[connection]}
    </span>
  )
}

/** What is shown may be old: that must not be overlooked. */
function Disconnected() {
  const connection = useLive((live) => live.connection)
  const since = useLive((live) => live.since)
  if (connection !== 'lost') return null
  return (
    <div className="banner" role="alert">
      <Icon name="warning" />
      <p>
        The server does not answer
        {/* Whoever is read to hears it once, not each second. */}
        <span aria-hidden="true">
          {' '}
          (<Since at={since} />)
        </span>
        . The page shows the last known state and reconnects by itself.
      </p>
    </div>
  )
}

/** The first thing to know for whoever wonders why nothing runs. */
function AllPaused() {
  const isPaused = useLive((live) => live.counts?.paused ?? false)
  if (!isPaused) return null
  return (
    <div className="banner" role="status">
      <Icon name="pause" />
      <p>Everything is paused: workers start no new tasks and no new rows.</p>
      <Action path="/resume" icon="resume" small done="Resumed everything">
        Resume everything
      </Action>
    </div>
  )
}
