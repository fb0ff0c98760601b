import { CALLERS, enqueueEntries } from '../../scenarios/enqueue.ts'
import { aTenth, everyone } from '../../scenarios/lineup.ts'
import { PER_SECOND, type Scenario } from '../../scenarios/scenario.ts'

export const enqueueTogether: Scenario = {
  id: 'enqueue-together',
  title: `Enqueue with ${CALLERS} callers in flight`,
  meaning:
    `${CALLERS} callers at once, as in a busy web server, each awaiting its own task on disk. Raw: one statement with ` +
    `${CALLERS} rows after the other, which is only possible if one caller has all the rows. The peers get a ` +
    'tenth of the tasks, which is enough to know their rate.',
  metrics: [PER_SECOND],
  entries: enqueueEntries('together', 'full', [
    ...everyone(50_000, ['gleaner']),
    ...everyone(50_000, ['postgres/raw'], { note: `batches of ${CALLERS}` }),
    ...aTenth(50_000, [
      'postgres/graphile-worker',
      'postgres/pg-boss',
      'postgres/bullmq',
      'postgres/bullmq-redis',
    ]),
  ]),
  targets: [
    {
      level: 'reach',
      text: '≥ 8 × graphile-worker and pg-boss',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: ['graphile-worker', 'pg-boss'],
      atLeast: 8,
    },
  ],
}

export const enqueueMany: Scenario = {
  id: 'enqueue-many',
  title: 'enqueueMany of 100 000',
  meaning:
    'One call with 100 000 payloads for Gleaner. Raw: INSERT … SELECT unnest of 5000 rows, one statement and one ' +
    'commit after the other. graphile-worker: `addJobs`, pg-boss: `insert`, both 10 000 at a time; BullMQ: `addBulk`, ' +
    '1000 at a time.',
  metrics: [PER_SECOND],
  entries: enqueueEntries('many', 'full', [
    ...everyone(100_000, ['gleaner', 'postgres/raw', 'postgres/graphile-worker', 'postgres/pg-boss']),
    ...aTenth(100_000, ['postgres/bullmq', 'postgres/bullmq-redis']),
  ]),
  targets: [
    {
      level: 'reach',
      text: '≥ 1.5 × graphile-worker and pg-boss',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: ['graphile-worker', 'pg-boss'],
      atLeast: 1.5,
    },
    {
      level: 'reach',
      text: '≥ 0.6 × raw multi-row inserts',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.6,
    },
  ],
}
