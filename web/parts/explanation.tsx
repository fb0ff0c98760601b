import type { Explanation } from '../../src/http/wire/types.ts'
import { localTimes } from '../text/format.ts'
import { Icon } from './icon.tsx'
import { Prose } from './prose.tsx'
import { sentence } from './states.tsx'

/** Why it does not run: each condition in order, and what to do about those that fail. */
export function ExplanationView({ explanation: { runnable, reasons } }: { explanation: Explanation }) {
  const blocking = reasons.filter(({ ok }) => !ok)
  return (
    <div className="explanation">
      <p className="explanation-verdict" data-tone={runnable ? 'green' : 'amber'}>
        {runnable
          ? 'Nothing blocks it: the next free worker claims it.'
          : readable(blocking[0]?.detail ?? 'it is finished')}
      </p>
      <ol>
        {reasons.map(({ check, ok, detail, fix }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a check may come twice
          <li key={`${check}-${index}`} data-ok={ok}>
            <Icon name={ok ? 'ok' : 'warning'} size={16} />
            <div>
              <p>
                <span className="visually-hidden">{ok ? 'Passed: ' : 'Blocks: '}</span>
                {readable(detail)}
              </p>
              {!ok && fix !== null && (
                <p className="fix">
                  <Prose text={fix} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
    </div>
  )
}

function readable(detail: string): string {
  return sentence(localTimes(detail))
}
