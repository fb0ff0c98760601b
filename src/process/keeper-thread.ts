import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { healthOfPhase } from '../model/worker.ts'
import { keepRenewing, type Renewing } from '../worker/keeper/renewing.ts'
import { BoundedLines } from './bounded-lines.ts'
import { decodeControl } from './control.ts'
import { encodeFrame } from './frame.ts'
import type { FromHealthLine, KeeperData, ReportedHealth } from './health-line.ts'
import { SharedRunTable } from './run-table.ts'

/**
 * The keeper of a supervised worker: renews its sessions as every keeper does, and writes its health frames. It hears its
 * supervisor, too, and his end: also while the event loop of the process is blocked.
 */
const { memory, componentId, incarnation, frameEveryMs, originMs, turnEveryMs } = workerData as KeeperData
const port = parentPort!
const board = new SharedRunTable(memory)

/** Descriptor 3: a pair of sockets, so that a writer never waits for a reader that does not read. */
const pipe = new Socket({ fd: 3, readable: true, writable: true, allowHalfOpen: true })
/** Beyond that the supervisor does not read, and what is new is worth more than what is old. */
const UNREAD_MAX_BYTES = 64 * 1024
/** An item that comes and goes is worth a frame that often. */
const CHANGE_EVERY_MS = 200
const ITEMS_MAX = 50
const COMMAND_MAX_CHARS = 1_000
const CLOSE_WITHIN_MS = 100

let said: ReportedHealth = {
  phase: 'initializing',
  paused: false,
  reason: null,
  processed: 0,
  errors: 0,
  metrics: {},
  program: null,
}
let seq = 0
let toldBusy = false

function write(): void {
  if (pipe.writableLength > UNREAD_MAX_BYTES || !pipe.writable) return
  const { phase, rss = process.memoryUsage.rss(), ...rest } = said
  toldBusy = board.running > 0
  const nowMs = monotonicMs()
  const current = board.items(ITEMS_MAX, nowMs - originMs, Date.now())
  // A worker that runs something is ready, even if its event loop was blocked before it could say so.
  const actual = toldBusy && (phase === 'idle' || phase === 'initializing') ? 'processing' : phase
  const line = encodeFrame({
    componentId,
    incarnation,
    seq: ++seq,
    status: healthOfPhase(actual),
    phase: actual,
    currentJob: current[0]?.item ?? null,
    current,
    rss,
    // Until the next turn is due nothing can be said against it.
    loopLagMs: Math.max(0, Math.round(nowMs - board.turnedMs - turnEveryMs)),
    ...rest,
  })
  pipe.write(line)
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function tell(message: FromHealthLine): void {
  port.postMessage(message)
}

/** Begins and ends of work, at most some times a second however short the items are. */
async function followChanges(): Promise<void> {
  for (;;) {
    const { running } = board
    if (running > 0 !== toldBusy) write()
    await board.change(running)
    if (board.running > 0 !== toldBusy) write()
    await new Promise((resolve) => setTimeout(resolve, CHANGE_EVERY_MS))
  }
}

const commands = new BoundedLines(COMMAND_MAX_CHARS, {
  onLine: (line) => {
    const control = decodeControl(line)
    if (control !== undefined) tell({ control })
  },
  onTooLong: () => {},
})
pipe.on('data', commands.write)
pipe.on('error', () => {})
/** The pipe ended, so the supervisor is dead and no process reads frames. */
pipe.once('close', () => tell({ orphaned: true }))
pipe.once('end', () => pipe.destroy())

const timer = setInterval(write, frameEveryMs)
port.on('message', (message: { said?: ReportedHealth; report?: string; renew?: Renewing; close?: true }) => {
  if (message.said !== undefined) {
    const { phase, paused, reason } = message.said
    const changed = phase !== said.phase || paused !== said.paused || reason !== said.reason
    said = message.said
    if (changed) write()
  }
  if (message.report !== undefined && pipe.writable && pipe.writableLength <= UNREAD_MAX_BYTES)
    pipe.write(message.report)
  if (message.renew !== undefined) keepRenewing(port, message.renew)
  if (message.close === true) {
    clearInterval(timer)
    // What was written last is still heard, if anybody reads; then the thread has nothing left to wait for.
    pipe.end(() => process.exit())
    setTimeout(() => process.exit(), CLOSE_WITHIN_MS)
  }
})
write()
void followChanges()
