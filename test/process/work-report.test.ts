import { expect, test } from 'vitest'
import { FrameReader } from '../../src/process/frame-reader.ts'
import { decodeReport, encodeReport, type WorkReport } from '../../src/process/work-report.ts'

const ITEM = { id: '1', name: 'mail', queue: 'default', attempt: 1, maxAttempts: 3 }

test('a report is read as it was written', () => {
  const reports: WorkReport[] = [
    { kind: 'completed', ...ITEM, durationMs: 12 },
    {
      kind: 'failed',
      ...ITEM,
      queue: null,
      maxAttempts: null,
      durationMs: null,
      error: { kind: 'crash', message: 'it died', stack: null },
      retryInMs: 0,
    },
    { kind: 'log', ...ITEM, level: 'warn', message: 'slow', details: '{"ms":1}' },
    { kind: 'returned', ...ITEM },
    { kind: 'omitted', count: 7 },
    { kind: 'loaded', files: ['/app/tasks.ts'] },
  ]
  const read: WorkReport[] = []
  const reader = new FrameReader(
    () => {},
    undefined,
    (report) => read.push(report),
  )
  for (const report of reports) reader.add(Buffer.from(encodeReport(report)))
  expect(read).toEqual(reports)
  expect(reader.noise).toBe(0)
})

test('a line that a handler made up is no report, or only a harmless one', () => {
  for (const line of ['REPORT|', 'REPORT|null', 'REPORT|{"kind":"failed"}', 'REPORT|[]', 'HEALTH|{}'])
    expect(decodeReport(line)).toBeUndefined()
  for (const wrong of [
    { ...ITEM, kind: 'made-up' },
    { ...ITEM, kind: 'completed', durationMs: 'long' },
    { ...ITEM, kind: 'failed', error: { kind: 'made-up' } },
    { ...ITEM, kind: 'completed', durationMs: 1, id: { toString: 1 } },
  ])
    expect(decodeReport(`REPORT|${JSON.stringify(wrong)}`)).toBeUndefined()
  const long = decodeReport(`REPORT|${JSON.stringify({ ...ITEM, kind: 'log', message: 'x'.repeat(9_999) })}`)
  expect(long).toMatchObject({ level: 'info', message: 'x'.repeat(1_000) })
})
