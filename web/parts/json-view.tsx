import { useMemo } from 'react'
import { writeExactly } from '../../src/exact-json.ts'
import { CopyButton } from './copy-button.tsx'

/** More than that is cut: a browser should not choke on what somebody stored. */
const SHOWN_MAX = 100_000
const TOKENS = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g

/** JSON as it is, with all its digits. Text stays text, whatever it says. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => (value === undefined ? 'null' : writeExactly(value, 2)), [value])
  const shown = text.slice(0, SHOWN_MAX)
  return (
    <div className="json">
      <CopyButton text={text} label={`Copy ${label}`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="json-text" tabIndex={0} aria-label={`${label} as JSON`}>
        {coloured(shown)}
        {shown.length < text.length && '\n… shortened: copy it to see all'}
      </section>
    </div>
  )
}

function coloured(text: string) {
  const parts = []
  let at = 0
  for (const match of text.matchAll(TOKENS)) {
    const [whole, string, colon, number] = match
    if (match.index > at) parts.push(text.slice(at, match.index))
    const kind =
      string !== undefined
        ? colon === undefined
          ? 'string'
          : 'key'
        : number !== undefined
          ? 'number'
          : 'word'
    parts.push(
      <span className={`json-${kind}`} key={match.index}>
        {whole}
      </span>,
    )
    at = match.index + whole.length
  }
  parts.push(text.slice(at))
  return parts
}
