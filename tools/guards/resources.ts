import type { Guard } from './guard.ts'

const INSTANCE = 'src/worker/resources/instance.ts'
const TRACKER = 'src/worker/resources/tracker.ts'
const AVAILABILITY = 'test/worker/resources/availability.test.ts'
const LOADING = 'test/worker/resources/loading.test.ts'
const UNLOADING = 'test/worker/resources/unloading.test.ts'
const ERRORS = 'test/worker/resources/errors.test.ts'
const PHASES = 'test/worker/phases.test.ts'

function guard(
  name: string,
  promise: string,
  file: string,
  [find, replace]: [string, string],
  [test, title]: [string, string],
): Guard {
  return { name: `resources: ${name}`, promise, file, find, replace, test: { file: test, title } }
}

/** What keeps the promises about resources, and about workers that are broken. */
export const RESOURCES: readonly Guard[] = [
  guard(
    'nothing is claimed without them',
    'What needs an unavailable resource is not claimed.',
    'src/worker/sources/tasks.ts',
    ['filter((name) => !without.includes(name))', 'filter((name) => without.length > 0 || name)'],
    [AVAILABILITY, 'keeps what needs it from being claimed, and nothing else'],
  ),
  guard(
    'it is looked for again',
    'A resource that is back is noticed without anybody asking for work.',
    INSTANCE,
    ['() => this.#lookAgain())', '() => {})'],
    [AVAILABILITY, 'is asked again after 30 s, and what needs it runs at once when it is back'],
  ),
  guard(
    'a probe has a time-out',
    'A probe that hangs holds up only what needs its resource, and not for ever.',
    INSTANCE,
    ['callWithin(this.#clock, probeTimeoutMs, probe)', 'callWithin(this.#clock, 2 ** 40, probe)'],
    [AVAILABILITY, 'that never answers is given up after its time-out; others run meanwhile'],
  ),
  guard(
    'what is loaded is not probed',
    'A model that fills the GPU itself is not taken for missing.',
    INSTANCE,
    [
      'if (this.#instance !== undefined || this.#loading !== undefined) return !this.#isDoubted\n',
      'if (this.#loading !== undefined) return !this.#isDoubted\n',
    ],
    [AVAILABILITY, 'is asked once for many claims, and not while the resource is loaded'],
  ),
  guard(
    'drained waits for the first answer',
    'Nobody is told that there is nothing to do before it is known.',
    'src/worker/loop.ts',
    ['nothing && !resources.areAsking ? waiting', 'nothing ? waiting'],
    ['test/journeys/resources.test.ts', 'drained waits for a probe that takes its time'],
  ),
  guard(
    'explain is told',
    'Whoever asks why a task waits hears of the resource that is missing.',
    'src/worker/state/worker-state.ts',
    [
      'await services.store.sessions.noteUnavailableResources(\n      session,\n      pause === null ? unavailable : [...unavailable, pause],\n    )',
      'await Promise.resolve(services)',
    ],
    [AVAILABILITY, 'is told by explain, as long as it is so'],
  ),
  guard(
    'one load for all',
    'Those that ask meanwhile share a load.',
    INSTANCE,
    ['        if (this.#loading === undefined) {\n', '        {\n'],
    [LOADING, 'happens once for all that ask, before they run, and is shared by all workers'],
  ),
  guard(
    'a load has a time-out',
    'A load that hangs is given up.',
    INSTANCE,
    ['callWithin(this.#clock, loadTimeoutMs, load, late)', 'callWithin(this.#clock, 2 ** 40, load, late)'],
    [LOADING, 'that takes too long is given up; what comes late is unloaded'],
  ),
  guard(
    'what comes late is unloaded',
    'A load that was given up leaks nothing.',
    'src/worker/resources/call.ts',
    ['(late) => isOver && onLate(late)', '() => {}'],
    [LOADING, 'that takes too long is given up; what comes late is unloaded'],
  ),
  guard(
    'loading is not the time of the task',
    'A task does not time out because its model takes long to load.',
    'src/worker/run-services.ts',
    ['    inFlight.setDeadline(attempt, Number.POSITIVE_INFINITY)\n', ''],
    [LOADING, 'shows as loading_models, then processing, then idle'],
  ),
  guard(
    'its time begins after loading',
    'A task has its whole time-out, whatever loading took.',
    'src/worker/run-services.ts',
    ['inFlight.setDeadline(attempt, attempt.startedMs + attempt.timeoutMs)', ''],
    [LOADING, 'shows as loading_models, then processing, then idle'],
  ),
  guard(
    'its start is over before anything runs',
    'A worker process whose first handler blocks its event loop is not taken for one that does not start.',
    'src/worker/state/worker-state.ts',
    ['    this.#isReady = true\n    this.update()\n', '    this.#isReady = true\n'],
    [LOADING, 'leaves alone what needs nothing: its start is over before it runs'],
  ),
  guard(
    'the supervisor knows that it loads',
    'A worker process is not killed because its model takes longer to load than a handler may run.',
    'src/worker/run-services.ts',
    [
      '    inFlight.setDeadline(attempt, Number.POSITIVE_INFINITY)\n',
      '    attempt.deadlineMs = Number.POSITIVE_INFINITY\n',
    ],
    [
      'test/supervisor/resources.test.ts',
      'a worker process that lacks a resource is unhealthy until it is back; loading takes as long as it takes',
    ],
  ),
  guard(
    'a worker process says why it gave up',
    'Whoever runs worker processes knows a broken one by its exit code.',
    'src/process/worker-process.ts',
    ['    if (failed !== null) fail(failed.message, exitOfFailed(failed))\n', ''],
    [
      'test/supervisor/resources.test.ts',
      'a worker process that meets ten resource errors in a row ends with 13, and charges no item',
    ],
  ),
  guard(
    'who is cancelled does not wait for a load',
    'A cancelled task ends at once.',
    TRACKER,
    ['await unlessAborted(Promise.all(taking), signal)', 'await Promise.all(taking)'],
    [LOADING, 'is not waited for by a task that is cancelled'],
  ),
  guard(
    'what a failed start took is let go',
    'A resource is unloaded although another one that its run needed failed.',
    TRACKER,
    ['() => instances[n]!.release()', '() => {}'],
    [LOADING, 'of one of two that fails lets go of the other'],
  ),
  guard(
    'what would not load backs off',
    'A worker whose model will not load does not claim and fail on and on.',
    INSTANCE,
    [
      '      this.#miss(messageOf(failure), retryAfterMs, failure)\n      throw failure',
      '      throw failure',
    ],
    [LOADING, 'loading > that throws returns the attempt, and both back off'],
  ),
  guard(
    'each use begins the idle time anew',
    'What is in use now and then stays.',
    INSTANCE,
    ['    this.#users += 1\n    this.#cancelIdle()\n', '    this.#users += 1\n'],
    [UNLOADING, 'happens when nobody has used it for idleAfter; the next use loads it again'],
  ),
  guard(
    'nothing is unloaded under a run',
    'A handler has its model until it returns.',
    INSTANCE,
    ['if (instance === undefined || this.#users > 0) return', 'if (instance === undefined) return'],
    [UNLOADING, 'is left to a run that outlives its worker: it is not unloaded under its feet'],
  ),
  guard(
    'the last worker unloads',
    'Stopping the workers gives the memory back.',
    INSTANCE,
    [
      '    this.#cancelRetry()\n    this.#evictIfIdle()\n    await this.#unloading',
      '    this.#cancelRetry()',
    ],
    [UNLOADING, 'happens when the last worker that may need it stops, and when the engine closes'],
  ),
  guard(
    'an unload has a time-out',
    'An unload that hangs does not keep the next load waiting for ever.',
    INSTANCE,
    ['callWithin(this.#clock, unloadTimeoutMs, async', 'callWithin(this.#clock, 2 ** 40, async'],
    [UNLOADING, 'unloading > that hangs is told, and the worker goes on'],
  ),
  guard(
    'memory is freed',
    'After unload nothing of the engine holds on to what was loaded.',
    INSTANCE,
    ['    this.#instance = undefined\n    this.#unloading', '    this.#unloading'],
    [
      'test/journeys/resources.test.ts',
      'the memory of what is unloaded is freed, and it can be loaded again',
    ],
  ),
  guard(
    'the attempt is returned',
    'An item pays nothing for a broken worker.',
    'src/worker/outcome-of-error.ts',
    ['  if (error instanceof ResourceError) return broken(attempt, error)\n', ''],
    [ERRORS, 'returns the attempt, and the item backs off'],
  ),
  guard(
    'ten in a row end the worker',
    'A broken worker does not put off the whole queue.',
    'src/worker/state/worker-state.ts',
    ['    this.#onFailed()\n', ''],
    [ERRORS, 'as often as the worker was told ends it, and fails whoever waits for it to be drained'],
  ),
  guard(
    'who has given up starts nothing',
    'What a worker held ahead goes back when it gives up.',
    'src/worker/executor.ts',
    ['    if (!this.#isOpen) return this.return([claim], source)\n', ''],
    [ERRORS, 'that ends the worker at the first of many it was given lets the others go back'],
  ),
  guard(
    'a success begins the count anew',
    'Ten errors in a week end nobody.',
    'src/worker/state/stats.ts',
    ['if (counters.consecutive_errors > 0) this.#recovered()', ''],
    [ERRORS, 'is forgotten with the first success; bad data neither counts nor forgets'],
  ),
  guard(
    'one failed load counts once',
    'Ten items that waited for one load do not end their worker.',
    'src/worker/state/stats.ts',
    ['if (error !== this.#trouble) this', 'this'],
    [ERRORS, 'of one load that many waited for counts once, and ten of them say that it would not load'],
  ),
  guard(
    'whoever waits for a worker that gave up is told',
    'drained() does not say that all is done when the worker gave up.',
    'src/worker/worker.ts',
    ['drained.end(state.failed)', 'drained.end(null)'],
    [ERRORS, 'as often as the worker was told ends it, and fails whoever waits for it to be drained'],
  ),
  guard(
    'what broke is asked about',
    'A resource that was lost while it was loaded is noticed, and replaced.',
    TRACKER,
    ['      if (broken) instance.doubt()\n', ''],
    [ERRORS, 'makes the worker ask whether what was used is still there, and unload it if not'],
  ),
  guard(
    'a pause shows',
    'Whoever pauses everything sees that the workers heed it.',
    'src/worker/state/worker-state.ts',
    ['    else if (paused !== undefined) this.#isEverythingPaused = paused\n', ''],
    [PHASES, 'tells of a pause, and of its end'],
  ),
  ...(['sqlite', 'postgres'] as const).flatMap((store) => [
    guard(
      `${store}: what is unavailable ends with its session`,
      'A worker that is gone holds up nothing.',
      'src/store/scripts/sessions.ts',
      ['SET holdups = ${text} WHERE id = ${session} AND', 'SET holdups = ${text} WHERE'],
      [
        `test/store/${store}.conformance.test.ts`,
        'what was said ends with the session, and is told to other stores',
      ],
    ),
  ]),
]
