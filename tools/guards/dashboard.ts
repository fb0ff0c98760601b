import type { Guard } from './guard.ts'

const FILES = 'test/http/dashboard.test.ts'
const INSIGHT = 'test/http/insight.test.ts'
const JOURNEYS = 'test/web/journeys.test.ts'

/** What the dashboard promises those who look at it. */
export const DASHBOARD: readonly Guard[] = [
  {
    name: 'dashboard: the Host is checked',
    promise: 'A page of another site gets nothing of ours, not even the dashboard.',
    file: 'src/http/api.ts',
    find: '      office.desk.access.checkHost(visitOf(c))\n      const slash',
    replace: '      const slash',
    test: {
      file: FILES,
      title: 'every page is the dashboard, whose files are there for ever; what is no page is not',
    },
  },
  {
    name: 'dashboard: files are named relative to the page',
    promise: 'It works wherever it is mounted, at every address.',
    file: 'src/http/dashboard.ts',
    find: "const up = '../'.repeat(path.split('/').length - 2) || './'",
    replace: "const up = './'",
    test: { file: FILES, title: 'mounted somewhere, its files are found there' },
  },
  {
    name: 'dashboard: lanes are bounded',
    promise: 'A supervisor that runs for a year remembers no more of its workers than one of today.',
    file: 'src/model/timeline.ts',
    find: '    if (lane.stretches.length > STRETCHES_MAX) coarsen(lane.stretches)\n',
    replace: '',
    test: {
      file: INSIGHT,
      title: 'a timeline keeps what changed, and how processes ended, and never grows beyond its bounds',
    },
  },
  {
    name: 'dashboard: viewers see no actions',
    promise: 'Whoever may not change anything is offered nothing to change.',
    file: 'web/parts/action.tsx',
    find: '  if (!mayAct) return null\n',
    replace: '',
    test: {
      file: JOURNEYS,
      title: 'whoever is unknown is asked for a token; a viewer sees everything and no action',
    },
  },
  {
    name: 'dashboard: a stream comes back',
    promise: 'After a connection that broke, what was missed is shown without a reload.',
    file: 'web/api/event-stream.ts',
    find: '    this.#timer = setTimeout(() => void this.#open(), this.#againMs * (0.75 + Math.random() / 2))\n',
    replace: '',
    test: {
      file: JOURNEYS,
      title: 'a connection that breaks is said, and what was missed is there when it is back',
    },
  },
  {
    name: 'dashboard: records keep the digits of large integers',
    promise: 'Big integers are exact: the API says what is stored.',
    file: 'src/store/task-row.ts',
    find: 'input: row.input === null ? null : readExactly(row.input)',
    replace: 'input: row.input === null ? null : JSON.parse(row.input)',
    test: {
      file: 'test/http/redact.test.ts',
      title: 'large integers leave with all their digits, whether anything is redacted or not',
    },
  },
  {
    name: 'dashboard: the form keeps the digits of large integers',
    promise: 'What is typed into a form arrives as it was typed, or is refused.',
    file: 'web/parts/schema-value.ts',
    find: 'readExactly(String(BigInt(text)))',
    replace: 'number',
    test: { file: JOURNEYS, title: 'a task is enqueued from a form, whose fields say what is wrong' },
  },
  {
    name: 'dashboard: what was cancelled is no longer unfinished',
    promise: 'Depth over time is how it was, also when tasks were cancelled, removed or retried by hand.',
    file: 'src/queue/manage.ts',
    find: "      if (answer === 'cancelled') meter.stirred()\n",
    replace: '',
    test: {
      file: 'test/observe/metrics.test.ts',
      title:
        'how many tasks are unfinished is written down, also when they are cancelled, removed or retried',
    },
  },
  {
    name: 'dashboard: a backup that failed is written down',
    promise: 'System tells of every backup, also of those that somebody counts on and that are not there.',
    file: 'src/store/sqlite/maintenance/maintenance.ts',
    find: '      await note({ bytes: null, error: (error as Error).message })\n',
    replace: '',
    test: {
      file: INSIGHT,
      title: 'the system tells its database, what is kept, its backups, and what ever happened',
    },
  },
  {
    name: 'dashboard: nothing is written at rest',
    promise: 'Looking at rows that do not change writes nothing.',
    file: 'src/model/level.ts',
    find: ' && (left !== last.left || done !== last.done)',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'of rows that are left what is new is written down, with how many were done',
    },
  },
  {
    name: 'dashboard: what takes long keeps no other waiting',
    promise: 'With a million rows to count, a queue that was paused is seen to be paused at once.',
    file: 'src/http/events/hub.ts',
    find: '      if (isSlow !== slow) continue\n',
    replace: '      if (slow === isSlow) this.#forget(topic)\n',
    test: {
      file: 'test/http/events.test.ts',
      title: 'a topic that takes long keeps no other waiting, and who has acted sees it at once',
    },
  },
  {
    name: 'dashboard: who has acted waits for no rest',
    promise: 'Actions are seen within 300 ms.',
    file: 'src/http/events/lookout.ts',
    find: '(this.#wantedMs ?? this.#notBefore)',
    replace: 'this.#notBefore',
    test: {
      file: 'test/http/events.test.ts',
      title: 'a topic that takes long keeps no other waiting, and who has acted sees it at once',
    },
  },
  {
    name: 'dashboard: lanes do not tell of what nobody watched',
    promise: 'A lane shows what is known of a worker, and nothing else.',
    file: 'src/model/recorded-lane.ts',
    find: 'at - last.to <= UNWATCHED_MS',
    replace: 'at > last.to',
    test: {
      file: INSIGHT,
      title: 'before what was seen, and of workers of others, a lane tells what was written down',
    },
  },
  {
    name: 'dashboard: who has acted sees costly topics, too',
    promise: 'Actions are seen within 300 ms, also by those who look at workers.',
    file: 'src/http/events/hub.ts',
    find: '    this.#readAt.clear()\n',
    replace: '',
    test: {
      file: 'test/http/events.test.ts',
      title: 'a topic that takes long keeps no other waiting, and who has acted sees it at once',
    },
  },
  {
    name: 'dashboard: nothing moves under the pointer',
    promise: 'Who is about to click on something clicks on that.',
    file: 'web/parts/steady-list.ts',
    find: 'const isHeld = (pointed || isBusy)',
    replace: 'const isHeld = isBusy',
    test: { file: JOURNEYS, title: 'what is changed elsewhere is seen at once, without a reload' },
  },
]
