import type { Lane, Stretch, Worker } from '../../src/http/wire/types.ts'
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
  /** Nobody here saw it: the history of health has it. */
  isRecorded?: boolean
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
          data-recorded={piece.isRecorded}
          title={titleOf(piece)}
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

function titleOf({ what, from, to, isRecorded }: Piece): string {
  const words = `${what.replaceAll('_', ' ')}, ${time(from)}, ${duration(to - from)}`
  return isRecorded ? `${words}, from the health history` : words
}

/** What this supervisor saw, and before that what was written down. */
function piecesOf(lane: Lane | undefined, worker: Worker, from: number, to: number): Piece[] {
  const recorded = (lane?.recorded ?? []).map((one) => ({
    from: one.from,
    to: one.to,
    what: one.health as string,
    isRecorded: true,
  }))
  const seen = lane === undefined || lane.stretches.length === 0 ? [] : seenOf(lane.stretches, to)
  // Of a worker that another supervisor has, or a program itself, the moment is known.
  if (seen.length === 0) {
    const since = Math.max(recorded.at(-1)?.to ?? 0, to - JUST_NOW_MS)
    seen.push({ from: Math.min(since, to - (to - from) / 100), to, what: worker.phase ?? worker.status })
  }
  return [...recorded, ...seen]
    .map((piece) => ({ ...piece, from: Math.max(from, piece.from), to: Math.min(to, piece.to) }))
    .filter((piece) => piece.to > piece.from)
}

/** As often as health is written down, and a bit. */
const JUST_NOW_MS = 40_000

function seenOf(stretches: readonly Stretch[], to: number): Piece[] {
  return stretches.map(({ from, status, phase }, index) => ({
    from,
    to: stretches[index + 1]?.from ?? to,
    what: status === 'running' ? (phase ?? status) : status === 'starting' ? 'initializing' : status,
  }))
}

function saidOf(pieces: Piece[], exits: number): string {
  const last = pieces.at(-1)
  const now =
    last === undefined
      ? 'no data'
      : `now ${last.what.replaceAll('_', ' ')} for ${duration(last.to - last.from)}`
  return exits === 0
    ? now
    : `${now}; its process ended ${exits === 1 ? 'once' : `${exits} times`} in the time shown`
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
