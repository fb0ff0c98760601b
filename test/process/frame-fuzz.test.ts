import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { decodeFrame } from '../../src/process/frame.ts'
import { FrameReader } from '../../src/process/frame-reader.ts'
import { randomFrom } from '../torture/random.ts'
import { fuzzedFrames } from './fuzzed-frames.ts'

/** A million in `npm run torture`; `GLEANER_SEED` repeats a run. */
const COUNT = process.env.GLEANER_TORTURE === '1' ? 1_000_000 : 30_000
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)
const LINE_MAX_CHARS = 64 * 1024

test('of frames that were cut, merged, bent, of a megabyte or of others, those are heard that are whole, and nothing is kept of the rest', {
  timeout: 300_000,
}, () => {
  const random = randomFrom(seed)
  let [nowMs, heard, heapMax] = [0, 0, 0]
  const reader = new FrameReader(
    () => {
      heard += 1
    },
    () => nowMs,
  )
  const expected = new Expected()
  const before = heapUsed()
  for (const bytes of fuzzedFrames('worker:main:0', COUNT, seed)) {
    expected.add(bytes)
    for (let at = 0; at < bytes.length; ) {
      const length = random.integer(1, 16_384)
      // Each chunk comes in a second of its own: how many are looked at in one is for another test.
      nowMs += 1_000
      reader.add(bytes.subarray(at, at + length))
      at += length
    }
    if (random.integer(0, 499) === 0) heapMax = Math.max(heapMax, heapUsed() - before)
  }
  expect({ heard, noise: reader.noise }, `GLEANER_SEED=${seed}`).toEqual({
    heard: expected.frames,
    noise: expected.noise,
  })
  expect(expected.frames).toBeGreaterThan(COUNT / 10)
  heapMax = Math.max(heapMax, heapUsed() - before)
  expect(heapMax).toBeLessThan(30e6)
  console.log(
    `${COUNT} fuzzed frames: ${heard} whole, ${reader.noise} lines of noise, ${Math.round(heapMax / 1e6)} MB at most`,
  )
})

/** The same, the simple way: all of it until the last end of line, cut at once. */
class Expected {
  frames = 0
  noise = 0
  #rest = Buffer.alloc(0)

  add(bytes: Buffer): void {
    const all = Buffer.concat([this.#rest, bytes])
    const end = all.lastIndexOf(10) + 1
    this.#rest = all.subarray(end)
    for (const line of all.toString('utf8', 0, end).split('\n').slice(0, -1)) {
      if (line.length <= LINE_MAX_CHARS && decodeFrame(line).kind === 'frame') this.frames += 1
      else this.noise += 1
    }
  }
}

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** What is still held when all that is garbage is gone. */
function heapUsed(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
