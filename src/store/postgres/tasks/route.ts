import type { Lane } from '../../lane.ts'
import type { ClaimRequest } from '../../ports/exchange.ts'
import { lastInTurn, shareOf } from '../../turns.ts'
import { type LanePath, type Path, wholePath } from './low-water.ts'
import type { Memory } from './memory.ts'
import type { OpenLanes } from './open-lanes.ts'

/** Of so many queues a claim reads those whose turn it is. The others are asked only if these have too little. */
const QUEUES_MIN = 64

/** Tasks that a claim locks at most: of each lane as many as it could take, because any of them may stand first. */
const LOCKED_MAX = 8_000

/** Where a claim looks. */
export interface ClaimRoute {
  path: Path
  /** So many of each lane, and of each queue. */
  share: number
  /** Each queue has one lane or line, and one after the other is read until there is enough. */
  isOneByOne: boolean
  /** If there is nothing, there may still be something elsewhere. */
  isPart: boolean
  /** Lanes that share a line with lanes of others; null: no such line is read. */
  mine: readonly number[] | null
  /** Lanes above this one have come since. */
  highest: number
}

/** As far as it pays: with few queues all lanes and lines, with many those whose turn it is, or those that had something just now. */
export function claimRouteOf(memory: Memory, want: ClaimRequest, open: OpenLanes): ClaimRoute {
  const known = open.areFew ? null : memory.ready.of(open)
  const ways =
    known === null ? waysInTurn(memory, want, open) : readyWays(memory, want, open, placesOf(open, known))
  return routeAlong(memory, want, open, ways)
}

/** Nothing that may be claimed is left out. */
export function isWhole({ path, isPart }: ClaimRoute): boolean {
  return path.whole && !isPart
}

/** The same, and of each lane everything. */
export function wholeRoute(memory: Memory, want: ClaimRequest, open: OpenLanes): ClaimRoute {
  const ways = waysInTurn(memory, want, open)
  return { ...routeAlong(memory, want, open, ways), path: wholePath(ways) }
}

/** Through these lanes, each by itself, and lines; see `placesOf`. */
export function routeThrough(
  memory: Memory,
  want: ClaimRequest,
  open: OpenLanes,
  places: ReadonlySet<number>,
): ClaimRoute {
  const ways = readyWays(memory, want, open, places)
  return { ...routeAlong(memory, want, open, ways), path: wholePath(ways) }
}

/** Lanes, and instead of lanes that share a line which the worker may claim from as a whole, that line, below 0. */
export function placesOf(open: OpenLanes, lanes: Iterable<number>): Set<number> {
  const places = new Set<number>()
  for (const id of lanes) {
    const { queue, line } = open.lane(id)!
    places.add(line !== null && open.isWhole(open.queues.get(queue)!) ? -line : id)
  }
  return places
}

function routeAlong(
  { lanes, lowWater }: Memory,
  want: ClaimRequest,
  open: OpenLanes,
  ways: readonly LanePath[],
): ClaimRoute {
  const path = lowWater.pathOf(ways)
  const queues = (ways.at(-1)?.turn ?? 0) + 1
  const isEnough = !open.areFew && queues >= want.start + want.ahead
  const isOneByOne = isEnough && path.lanes.length === queues && areAlike(ways)
  const few = Math.max(1, Math.floor(LOCKED_MAX / ways.length))
  return {
    path,
    share: isOneByOne ? shareOf(want) : isEnough ? 1 : few,
    isOneByOne,
    isPart: !open.areFew,
    mine: mineAmong(open, ways),
    highest: lanes.highest,
  }
}

/** One statement reads them in their order. */
function areAlike(ways: readonly LanePath[]): boolean {
  const [{ lane, lastFirst }] = ways as [LanePath, ...LanePath[]]
  return ways.every((way) => way.lane > 0 === lane > 0 && way.lastFirst === lastFirst)
}

function mineAmong(open: OpenLanes, ways: readonly LanePath[]): number[] | null {
  if (open.areWhole) return null
  const read = new Set(ways.map(({ lane }) => lane))
  const shared = [...open.queues.values()].filter(({ line }) => line !== null && read.has(-line))
  return shared.every((one) => open.isWhole(one)) ? null : shared.flatMap((one) => one.shared)
}

/** A claim took tasks of these lanes, in this order. */
export function noteTurn(
  { turns }: Memory,
  want: ClaimRequest,
  open: OpenLanes,
  lanes: readonly Lane[],
): void {
  const share = open.areFew ? 1 : shareOf(want)
  const last = lastInTurn(
    lanes.map(({ queue }) => queue),
    share,
  )
  if (last !== undefined) turns.served(want.able, last)
}

/** Of those queues whose turn it is the lanes, and the line. */
function waysInTurn({ queues, turns }: Memory, want: ClaimRequest, open: OpenLanes): LanePath[] {
  const most = Math.max(QUEUES_MIN, want.start + want.ahead)
  const ways: LanePath[] = []
  let turn = 0
  for (const queue of turns.of(want.able)) {
    const one = open.queues.get(queue)
    if (one === undefined) continue
    const lastFirst = queues.isLastFirst(queue)
    for (const lane of one.own) ways.push({ lane, lastFirst, turn })
    if (one.line !== null) ways.push({ lane: -one.line, lastFirst, turn })
    turn += 1
    if (turn === most) break
  }
  return ways
}

/** Of those queues whose turn it is these lanes and lines. */
function readyWays(
  { queues, turns }: Memory,
  want: ClaimRequest,
  open: OpenLanes,
  places: ReadonlySet<number>,
): LanePath[] {
  const byQueue = Map.groupBy(places, (id) => open.queueOf(id))
  const inTurn = turns.among(want.able, byQueue.keys()).slice(0, want.start + want.ahead)
  return inTurn.flatMap((queue, turn) => {
    const lastFirst = queues.isLastFirst(queue)
    return byQueue.get(queue)!.map((lane) => ({ lane, lastFirst, turn }))
  })
}
