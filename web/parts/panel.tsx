import { type ReactNode, useId } from 'react'

/** A titled piece of a page. */
export function Panel({
  title,
  note,
  actions,
  children,
  flush = false,
}: {
  title: string
  note?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Its content reaches its edges, as a table does. */
  flush?: boolean
}) {
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="muted">{note}</span>}
        {actions !== undefined && <div className="panel-actions">{actions}</div>}
      </header>
      <div className={flush ? 'panel-flush' : 'panel-body'}>{children}</div>
    </section>
  )
}

export function PageHead({
  title,
  note,
  children,
}: {
  title: ReactNode
  note?: ReactNode
  children?: ReactNode
}) {
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {note !== undefined && <p className="muted">{note}</p>}
      </div>
      {children !== undefined && <div className="page-actions">{children}</div>}
    </header>
  )
}

/** A number that a person looks for. */
export function Figure({
  label,
  value,
  unit,
  note,
  tone,
}: {
  label: string
  value: ReactNode
  unit?: string
  note?: ReactNode
  tone?: string
}) {
  return (
    <div className="figure" data-tone={tone}>
      <dt>{label}</dt>
      <dd>
        <span className="num figure-value">{value}</span>
        {unit !== undefined && <span className="figure-unit">{unit}</span>}
        {note !== undefined && <span className="figure-note">{note}</span>}
      </dd>
    </div>
  )
}

/** Names and values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode] | null)[] }) {
  return (
    <dl className="facts">
      {facts
        .filter((fact) => fact !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
