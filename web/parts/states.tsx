import type { ReactNode } from 'react'
import type { ApiError } from '../api/client.ts'
import { Icon, type IconName } from './icon.tsx'
import { Prose } from './prose.tsx'

/** What a part shows when it has nothing to show. */

export function Empty({
  icon = 'ok',
  title,
  isPage = false,
  children,
}: {
  icon?: IconName
  title: string
  /** It is all there is on the page. */
  isPage?: boolean
  children?: ReactNode
}) {
  const Title = isPage ? 'h1' : 'p'
  return (
    <div className="state">
      <Icon name={icon} size={28} />
      <Title className="state-title">{title}</Title>
      {children !== undefined && <div className="state-text">{children}</div>}
    </div>
  )
}

export function Failed({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div className="state state-failed" role="alert">
      <Icon name="warning" size={28} />
      <p className="state-title">{sentence(error.message)}</p>
      {error.hint !== null && (
        <p className="state-text">
          <Prose text={error.hint} />
        </p>
      )}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          <Icon name="retry" /> Retry
        </button>
      )}
    </div>
  )
}

/** As high as what will stand there, so that nothing jumps. */
export function Loading({ rows = 5, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div className="loading" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div className="skeleton" key={row} />
      ))}
    </div>
  )
}

/** Whichever of them it is. */
export function Answered<T>({
  query,
  rows,
  children,
}: {
  query: { data: T | null; error: ApiError | null; refetch(): void }
  rows?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== null) return children(query.data)
  if (query.error !== null) return <Failed error={query.error} onRetry={query.refetch} />
  return <Loading rows={rows} />
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
