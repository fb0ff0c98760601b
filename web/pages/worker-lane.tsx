import type { Lane, Worker } from '../../src/http/wire.ts'
import { toneOf } from '../parts/badge.tsx'
import { duration, time } from '../text/format.ts'

interface LaneProps {
  lane: Lane | undefined
  worker: Worker
  from: number
  to: number
}

interface Piece {
  from: number
  to: number
  what: string
}

/** What a worker did over time, and where its processes ended. */
export function LaneView({ lane, worker, from, to }: LaneProps) {
  const pieces = piecesOf(lane, worker, from, to)
  const exits = (lane?.exits ?? []).filter(({ at }) => at >= from && at <= to)
  const place = (at: number) => `${(100 * (at - from)) / (to - from)}%`
  return (
    <div className="lane-track" role="img" aria-label={saidOf(pieces, exits.length)}>
      {pieces.map((piece) => (
        <i
          key={piece.from}
          data-tone={toneOf(piece.what)}
          data-phase={piece.what}
          title={`${piece.what.replaceAll('_', ' ')}, ${time(piece.from)}, ${duration(piece.to - piece.from)}`}
          style={{
            insetInlineStart: place(piece.from),
            inlineSize: `${(100 * (piece.to - piece.from)) / (to - from)}%`,
          }}
        />
      ))}
      {exits.map(({ at, reason }) => (
        <b
          key={at}
          className="lane-exit"
          title={`${time(at)}: ${reason}`}
          style={{ insetInlineStart: place(at) }}
        />
      ))}
    </div>
  )
}

/** What the supervisor did not tell (of a worker inside a program) is only known for now. */
function piecesOf(lane: Lane | undefined, worker: Worker, from: number, to: number): Piece[] {
  const stretches = lane?.stretches ?? []
  if (stretches.length === 0)
    return [{ from: to - (to - from) * 0.01, to, what: worker.phase ?? worker.status }]
  return stretches
    .map(({ from: began, status, phase }, index) => ({
      from: Math.max(from, began),
      to: Math.min(to, stretches[index + 1]?.from ?? to),
      what: status === 'running' ? (phase ?? status) : status === 'starting' ? 'initializing' : status,
    }))
    .filter((piece) => piece.to > piece.from)
}

function saidOf(pieces: Piece[], exits: number): string {
  const last = pieces.at(-1)
  const now =
    last === undefined
      ? 'nothing known'
      : `now ${last.what.replaceAll('_', ' ')} for ${duration(last.to - last.from)}`
  return exits === 0
    ? now
    : `${now}; its process ended ${exits === 1 ? 'once' : `${exits} times`} in this time`
}

/** How long ago, at each line of the lanes. */
export function TimeAxis({ spanMs, parts }: { spanMs: number; parts: number }) {
  const marks = Array.from({ length: parts + 1 }, (_, index) => (spanMs * (parts - index)) / parts)
  return (
    <div className="lane-axis muted num" aria-hidden="true">
      {marks.map((agoMs) => (
        <span key={agoMs}>{agoMs === 0 ? 'now' : `−${duration(agoMs)}`}</span>
      ))}
    </div>
  )
}
