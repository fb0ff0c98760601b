import type { Row } from '../../src/http/wire/types.ts'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Ago } from '../parts/now.tsx'

export function RowLine({
  row,
  path,
  maxAttempts,
  onExplain,
}: {
  row: Row
  path: string
  maxAttempts: number | null
  onExplain: (key: string) => void
}) {
  const { key, state, attempts, crashes } = row
  return (
    <tr>
      <td className="row-key">
        <span className="cut mono" title={key}>
          {key}
        </span>
        <RowWhat row={row} />
      </td>
      <td>
        <Badge status={state} />
      </td>
      <td className="right num">
        {attempts} / {maxAttempts ?? '…'}
        {crashes > 0 && <span className="row-crashes error-text">{crashes} crashed</span>}
      </td>
      <td className="right">
        <div className="row-actions">
          <button type="button" className="button" data-small onClick={() => onExplain(key)}>
            Explain
          </button>
          {state === 'quarantined' && (
            <Action
              path={`${path}/rows/release`}
              body={{ key }}
              icon="release"
              small
              done={`Row ${key} is released`}
            >
              Release
            </Action>
          )}
          {state === 'backing-off' && (
            <Action
              path={`${path}/rows/retry`}
              body={{ key }}
              icon="retry"
              small
              done={`Row ${key} runs again`}
            >
              Retry
            </Action>
          )}
        </div>
      </td>
    </tr>
  )
}

function RowWhat({ row: { error, worker, since, nextAt, state, history } }: { row: Row }) {
  return (
    <>
      {error !== null && (
        <details className="row-error">
          <summary>
            <span className="error-text">
              {error.kind === 'crash' ? 'crash: ' : ''}
              {error.message}
            </span>
          </summary>
          {error.stack !== null && <pre>{error.stack}</pre>}
          <ol className="row-history">
            {history.map(({ attempt, at, outcome, message }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: entries are only added
              <li key={index}>
                <span className="num">attempt {attempt}</span> <Badge status={outcome} /> <Ago at={at} />{' '}
                {message !== null && <span className="muted">{message}</span>}
              </li>
            ))}
          </ol>
        </details>
      )}
      {state === 'claimed' && worker !== null && (
        <span className="muted">
          {worker} {since !== null && <Ago at={since} />}
        </span>
      )}
      {state === 'backing-off' && nextAt !== null && (
        <span className="muted">
          next try <Ago at={nextAt} />
        </span>
      )}
    </>
  )
}
