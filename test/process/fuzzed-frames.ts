import { encodeFrame } from '../../src/process/frame.ts'
import { type Random, randomFrom } from '../torture/random.ts'

/** What a pipe may bring: frames, and everything that can happen to them. */
export type Mishap = 'none' | 'truncated' | 'merged' | 'wrong id' | 'bent' | 'garbage' | 'a megabyte'

/** Mostly short ones: of the long ones a few are enough. */
const MISHAPS: readonly Mishap[] = ['none', 'none', 'truncated', 'merged', 'wrong id', 'bent', 'garbage']
const MEGABYTE_EVERY = 20_000

/** Of the worker that this is the pipe of; an endless supply of bytes, some hundred lines at a time. */
export function* fuzzedFrames(componentId: string, count: number, seed: number): Generator<Buffer> {
  const random = randomFrom(seed)
  const BATCH = 100
  for (let made = 0; made < count; made += BATCH) {
    const lines = Array.from({ length: Math.min(BATCH, count - made) }, (_, n) =>
      (made + n + 1) % MEGABYTE_EVERY === 0
        ? mishap('a megabyte', componentId, made + n, random)
        : mishap(random.pick(MISHAPS), componentId, made + n, random),
    )
    yield Buffer.concat(lines)
  }
}

function mishap(kind: Mishap, componentId: string, seq: number, random: Random): Buffer {
  const intact = Buffer.from(frame(componentId, seq))
  switch (kind) {
    case 'none':
      return intact
    case 'truncated':
      return Buffer.concat([intact.subarray(0, random.integer(1, intact.length - 2)), Buffer.from('\n')])
    case 'merged':
      // Without its end: the next line is no line of its own.
      return intact.subarray(0, -1)
    case 'wrong id':
      return Buffer.from(frame(`worker:other:${random.integer(0, 9)}`, seq))
    case 'bent':
      return bent(intact, random)
    case 'garbage':
      return Buffer.from([...Array.from({ length: 40 }, () => random.integer(11, 255)), 10])
    case 'a megabyte':
      return Buffer.concat([Buffer.from('HEALTH|'), Buffer.alloc(1_000_000, 'x'), Buffer.from('\n')])
  }
}

function bent(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  for (let n = random.integer(1, 5); n > 0; n--)
    copy[random.integer(0, copy.length - 2)] = random.integer(32, 126)
  return copy
}

function frame(componentId: string, seq: number): string {
  return encodeFrame({
    componentId,
    status: 'healthy',
    phase: 'idle',
    paused: false,
    reason: null,
    currentJob: null,
    incarnation: null,
    seq,
    current: [],
    rss: 50_000_000,
    loopLagMs: 0,
    processed: seq,
    errors: 0,
    metrics: {},
    program: null,
  })
}
