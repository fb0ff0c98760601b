import type { Guard } from './guard.ts'

const TRACES = 'test/telemetry/telemetry.test.ts'
const ACROSS = 'test/telemetry/across-processes.test.ts'
const METRICS = 'test/http/metrics.test.ts'
const CLAIMS =
  'Prometheus is told of claims, of conflicts, and of what was rescued from workers that were gone'
const ONE_TRACE = 'one trace leads from the request to each attempt in another process, and on'

export const TELEMETRY: Guard[] = [
  {
    name: 'telemetry: the context travels with the task',
    promise: 'A trace goes on in the process that runs the task.',
    file: 'src/worker/report/attempt-trace.ts',
    find: 'const carrier = overrides?.trace ?? null',
    replace: 'const carrier = overrides === undefined ? null : null',
    test: { file: ACROSS, title: `on SQLite > ${ONE_TRACE}` },
  },
  {
    name: 'telemetry: a handler runs inside its span',
    promise: 'Spans of the user nest in the attempt.',
    file: 'src/telemetry/attempt-span.ts',
    find: 'return context.with(this.#context, handler)',
    replace: 'return handler()',
    test: { file: ACROSS, title: `on PostgreSQL > ${ONE_TRACE}` },
  },
  {
    name: 'telemetry: an attempt is nobody’s child by chance',
    promise: 'A run is not a part of whatever its worker was started in.',
    file: 'src/telemetry/open-telemetry.ts',
    find: 'carrier === null ? ROOT_CONTEXT :',
    replace: 'carrier === null ? context.active() :',
    test: { file: TRACES, title: 'on SQLite > a row has a span for each attempt, in a trace of its own' },
  },
  {
    name: 'telemetry: a lost claim completed nothing',
    promise: 'A span says what was committed.',
    file: 'src/worker/in-flight.ts',
    find: "    attempt.trace?.ended({ kind: 'claim-lost' })\n",
    replace: '',
    test: {
      file: TRACES,
      title: 'on SQLite > a span says what was committed: a claim that was lost completed nothing',
    },
  },
  {
    name: 'telemetry: who never returns has a span',
    promise: 'Every attempt of a process that lives ends its span.',
    file: 'src/worker/in-flight.ts',
    find: "      attempt.trace?.ended({ kind: 'returned' })\n",
    replace: '',
    test: {
      file: TRACES,
      title: 'what a handler that is deaf to its end leaves behind is told as handed back',
    },
  },
  {
    name: 'telemetry: a tracer that throws harms no work',
    promise: 'What observes does not decide.',
    file: 'src/observe/tracing.ts',
    find: "      this.#onProblem('telemetry threw', error)\n      return undefined",
    replace: "      this.#onProblem('telemetry threw', error)\n      throw error",
    test: { file: TRACES, title: 'a tracer that throws harms no work, and is told of' },
  },
  {
    name: 'telemetry: what is stored of a trace is bounded',
    promise: 'Baggage does not fill the table of tasks.',
    file: 'src/observe/tracing.ts',
    find: ' || lengthOf(carrier) > CARRIER_MAX_CHARS',
    replace: '',
    test: { file: TRACES, title: 'what a trace takes along is bounded, and what is no telemetry is refused' },
  },
  {
    name: 'sqlite: tasks of one insert share their overrides',
    promise: 'Each task of a call keeps what is its own.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: '    one.overrides === next.overrides &&\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'of tasks that come in one call with the same overrides each has them',
    },
  },
  {
    name: 'metrics: claims are counted',
    promise: 'Prometheus is told what workers claimed.',
    file: 'src/worker/loop.ts',
    find: '    services.meter.claimed(source.kind, claims.length, answer.conflicts)\n',
    replace: '    services.meter.claimed(source.kind, 0)\n',
    test: { file: METRICS, title: `on sqlite > ${CLAIMS}` },
  },
  {
    name: 'metrics: what a sweeper rescues is counted',
    promise: 'Prometheus is told of workers that were gone.',
    file: 'src/engine/lost-workers.ts',
    find: '  meter.rescued(cause, end.returned)\n',
    replace: '',
    test: { file: METRICS, title: `on postgres > ${CLAIMS}` },
  },
  {
    name: 'metrics: what a supervisor rescues is counted',
    promise: 'Prometheus is told of workers that were gone.',
    file: 'src/supervisor/crash-recovery.ts',
    find: "      if (cause === 'crash') void this.#count(end)\n",
    replace: '',
    test: {
      file: 'test/supervisor/crashes.test.ts',
      title: 'a task whose worker is killed runs again in another one in the blink of an eye',
    },
  },
  {
    name: 'metrics: workers are no queue',
    promise: 'Metrics of queues are of queues.',
    file: 'src/model/metrics.ts',
    find: "return !queue.startsWith(':')",
    replace: 'return queue !== ROWS',
    test: { file: METRICS, title: `on sqlite > ${CLAIMS}` },
  },
]
