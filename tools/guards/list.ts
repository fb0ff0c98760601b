import { ALTERED_TABLES } from './altered-tables.ts'
import { BATCHES } from './batches.ts'
import { BOUNDS } from './bounds.ts'
import { CLAIMS } from './claims.ts'
import { CLI } from './cli.ts'
import { CONFIG } from './config.ts'
import { CONNECTIONS } from './connections.ts'
import { COPY } from './copy.ts'
import { DASHBOARD } from './dashboard.ts'
import { DISCOVERY } from './discovery.ts'
import { DISCOVERY_POSTGRES } from './discovery-postgres.ts'
import { DISCOVERY_SPEED } from './discovery-speed.ts'
import { DISCOVERY_WORKER } from './discovery-worker.ts'
import { FOLLOWING } from './following.ts'
import { FOREIGN } from './foreign.ts'
import type { Guard } from './guard.ts'
import { HEALTH } from './health.ts'
import { HTTP } from './http.ts'
import { LEASES } from './leases.ts'
import { LIMITS } from './limits.ts'
import { MAINTENANCE } from './maintenance.ts'
import { MANAGEMENT } from './management.ts'
import { PLAIN_EXCHANGE } from './plain-exchange.ts'
import { POSTGRES_BATCHES } from './postgres-batches.ts'
import { POSTGRES_SETTINGS } from './postgres-settings.ts'
import { PROGRESS_LINES } from './progress-lines.ts'
import { RECURRING } from './recurring.ts'
import { RESOURCES } from './resources.ts'
import { SERVER_LIFE } from './server-life.ts'
import { SQLITE_FILES } from './sqlite-files.ts'
import { SQLITE_LIBRARIES } from './sqlite-libraries.ts'
import { STATES } from './states.ts'
import { STRATEGIES } from './strategies.ts'
import { SUPERVISOR } from './supervisor.ts'
import { TELEMETRY } from './telemetry.ts'
import { VALUES } from './values.ts'

/** Grows with every promise: what guards it, and the test that notices when the guard is gone. */
export const GUARDS: readonly Guard[] = [
  {
    name: 'negative durations are refused',
    promise: 'A duration that is none is a typed error, not a time-out in the past.',
    file: 'src/duration.ts',
    find: ' || ms < 0',
    replace: '',
    test: { file: 'test/duration.test.ts', title: '-1 is refused with a code and a hint' },
  },
  {
    name: 'durations have a ceiling',
    promise: 'A unit mistaken for another is an error, not a task that waits for centuries.',
    file: 'src/duration.ts',
    find: ' || ms > DURATION_MAX_MS',
    replace: '',
    test: { file: 'test/duration.test.ts', title: '99999d is refused with a code and a hint' },
  },
  {
    name: 'a completion proves its fence',
    promise: 'A worker that woke up too late completes nothing.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'WHERE id = ? AND fence = ? AND',
    replace: 'WHERE id = ? AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a completion with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'a completion proves its session',
    promise: 'Nobody completes what another session holds.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'WHERE id = ? AND fence = ? AND session = ?`',
    replace: 'WHERE id = ? AND fence = ? AND (session = ? OR 1)`',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: "a completion with the fence of another session's claim is refused and changes nothing",
    },
  },
  {
    name: 'completions in one statement prove their fence',
    promise: 'A worker that woke up too late completes nothing.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'json_each(?)) AND fence = ? AND',
    replace: 'json_each(?)) AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'completions with a stale fence are refused together, and change nothing',
    },
  },
  {
    name: 'completions in one statement prove their session',
    promise: 'Nobody completes what another session holds.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'json_each(?)) AND fence = ? AND session = ?`',
    replace: 'json_each(?)) AND fence = ? AND (session = ? OR 1)`',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'completions of another session are refused together, and change nothing',
    },
  },
  {
    name: 'results of their own: the fence',
    promise:
      'A late worker changes nothing, also when it hands in many at once that differ in their results.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'CAST(done.key AS INTEGER) AND fence = ? AND',
    replace: 'CAST(done.key AS INTEGER) AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'completions with a stale fence are refused together, and change nothing',
    },
  },
  {
    name: 'results of their own: the session',
    promise: 'Only who holds them completes them.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: 'CAST(done.key AS INTEGER) AND fence = ? AND session = ?`',
    replace: 'CAST(done.key AS INTEGER) AND fence = ? AND (session = ? OR 1)`',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'completions of another session are refused together, and change nothing',
    },
  },
  {
    name: 'completions in one statement are all or none',
    promise: 'A worker is told exactly which of its completions were refused.',
    file: 'src/store/sqlite/tasks/complete.ts',
    find: '(db, session, alike, now) === alike.length',
    replace: '(db, session, alike, now) > 0',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'of tasks completed together, one in other hands is refused and the rest completes',
    },
  },
  {
    name: 'a batch is listed until all of it is settled',
    promise: 'What a session held goes back when it ends, however long ago it was claimed.',
    file: 'src/store/sqlite/tasks/tally.ts',
    find: ' AND unsettled = 0',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what is left of several batches goes back when the session ends',
    },
  },
  {
    name: 'the event loop turns now and then',
    promise: 'Whoever enqueues in a loop does not stop the timers and sockets of his process.',
    file: 'src/store/sqlite/file/writer.ts',
    find: 'return performance.now() - this.#answeringSinceMs >= GO_ON_MS',
    replace: 'return false',
    test: {
      file: 'test/store/sqlite/durability.test.ts',
      title: 'awaited one after the other, at normal, leave timers and sockets their turn',
    },
  },
  {
    name: 'the log begins anew when it has grown',
    promise: 'The write-ahead log stays bounded.',
    file: 'src/store/sqlite/store.ts',
    find: '      if (!inMemory) checkpoints.committed(durability)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/checkpoints.test.ts',
      title: 'the write-ahead log stays bounded, whatever passes through it',
    },
  },
  {
    name: 'who came too late to empty the log does it after his own commit',
    promise: 'The write-ahead log stays bounded.',
    file: 'src/store/sqlite/file/checkpoints.ts',
    find: '      this.#cameTooLate = full && !this.#beginAnew(frames) && !isSecondTry\n',
    replace: '      if (full) this.#beginAnew(frames)\n',
    test: {
      file: 'test/store/sqlite/checkpoints.test.ts',
      title: 'the write-ahead log stays bounded while somebody else always writes',
    },
  },
  {
    name: 'only tasks with nothing of their own are inserted together',
    promise: 'A task keeps its key, delay and overrides, whatever it is enqueued with.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: 'runAfter === null && key === null && isShort(input)',
    replace: 'isShort(input)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'of tasks that come in one call each keeps what is its own',
    },
  },
  {
    name: 'tasks inserted together are of one priority',
    promise: 'A task keeps its priority, whatever it is enqueued with.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: '    one.priority === next.priority &&\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'of tasks that come in one call each keeps what is its own',
    },
  },
  {
    name: 'every other outcome proves its fence',
    promise: 'A late failure, put-off or hand-back takes no task from its new holder.',
    file: 'src/store/sqlite/tasks/transition.ts',
    find: 'WHERE id = ? AND fence = ? AND session = ?',
    replace: 'WHERE id = ? AND (fence = ? OR 1) AND session = ?',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a put-off with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'every other outcome proves its session',
    promise: 'A late failure, put-off or hand-back takes no task from another session.',
    file: 'src/store/sqlite/tasks/transition.ts',
    find: 'WHERE id = ? AND fence = ? AND session = ?',
    replace: 'WHERE id = ? AND fence = ? AND (session = ? OR 1)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: "a hand-back with the fence of another session's claim is refused and changes nothing",
    },
  },
  {
    name: 'a start proves its fence',
    promise: 'A late start does not show as running what somebody else holds.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: 'started_at = ? WHERE id = ? AND fence = ? AND',
    replace: 'started_at = ? WHERE id = ? AND (fence = ? OR 1) AND',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a start with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'progress proves its fence',
    promise: 'A late worker does not write its progress over that of the new one.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: '            WHERE id = ? AND fence = ? AND session = ?`).run(fraction',
    replace: '            WHERE id = ? AND (fence = ? OR 1) AND session = ?`).run(fraction',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'progress with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'a log line proves its fence',
    promise: 'A late worker does not write into the log of the new attempt.',
    file: 'src/store/sqlite/manage/logs.ts',
    find: "coalesce(fence, ?) = ?'",
    replace: "(coalesce(fence, ?) = ? OR 1)'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a log line with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'handing in and claiming needs a live session',
    promise: 'A session that was ended gets no new work for its late results.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: 'if (!isLive(db, session)) return { answer: ended(exchange), ended: [], requeued: false }',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'an ended session that hands in work and wants more gets nothing for it',
    },
  },
  {
    name: 'a look needs a live session',
    promise: 'A worker whose session was ended learns it although there is nothing to do.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: '  if (!isLive(db, session)) return ended(exchange)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'an ended session is told so when it only looks, and there is nothing to claim',
    },
  },
  {
    name: 'fences grow',
    promise: 'Every claim can be told from every earlier one.',
    file: 'src/store/sqlite/tasks/claim.ts',
    find: "SET value = value + 1 WHERE key = 'fence'",
    replace: "SET value = value + 0 WHERE key = 'fence'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'every new claim of a task has a new, greater fence',
    },
  },
  {
    name: 'what is held is not claimed',
    promise: 'Two claimants never get the same task.',
    file: 'src/store/sqlite/tasks/heads.ts',
    find: "const READY = `status = 'queued' AND fence IS NULL AND",
    replace: "const READY = `status = 'queued' AND",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what a worker holds but has not started shows as queued, and nobody else gets it',
    },
  },
  {
    name: 'suspects are left to empty workers',
    promise: 'A task that may crash its worker takes no innocent ones with it.',
    file: 'src/store/sqlite/tasks/next-tasks.ts',
    find: 'want.empty ? nextSuspect(',
    replace: 'want !== null ? nextSuspect(',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a suspect blocks nobody else: a worker that holds something passes it, and is told of it',
    },
  },
  {
    name: 'the pause of everything',
    promise: 'While everything is paused nobody claims anything.',
    file: 'src/store/sqlite/limits/claim-scope.ts',
    find: '  if (paused !== 0) return { ...EMPTY_SCOPE, paused: true }\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the pause of everything holds for all queues, also for those that come later',
    },
  },
  {
    name: 'the pause of a queue',
    promise: 'A paused queue gives nothing.',
    file: 'src/store/sqlite/limits/claim-scope.ts',
    find: 'return !pausedQueues.has(queue) && (',
    replace: 'return pausedQueues.size >= 0 && (',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a paused queue gives nothing, to no store, until it is resumed; others go on',
    },
  },
  {
    name: 'keys are unique',
    promise: 'A key makes one task, and the answer names its holder.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: '  if (holder !== null) return { id: String(holder), created: false }\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the same key twice in one call makes one task, and both answers name it',
    },
  },
  {
    name: 'keys for ever',
    promise: 'A key for ever outlives its task.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: 'active ?? forever ?? null',
    replace: 'active ?? null',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a key for ever outlives its task, and ends when the task is removed',
    },
  },
  {
    name: 'retrying asks for the key',
    promise: 'Retrying by hand makes no second task with the same key.',
    file: 'src/model/task-change.ts',
    find: "keyHolder === undefined || keyHolder === id ? 'retry' : { keyHeldBy: keyHolder }",
    replace: "'retry'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'retrying by hand while another task holds the key is refused and names it',
    },
  },
  {
    name: 'ids never come back',
    promise: 'A handle of a removed task never means another task.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: "(SELECT value FROM gleaner_meta WHERE key = 'removed_through')) AS last",
    replace: '0) AS last',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the id of a removed task never comes back',
    },
  },
  {
    name: 'what is held is not removed',
    promise: 'A running task does not vanish under its worker.',
    file: 'src/model/task-change.ts',
    find: "return held ? 'running' : 'remove'",
    replace: "return 'remove'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a task that somebody holds is not removed',
    },
  },
  {
    name: 'removing counts first',
    promise: 'Counts stay exact when tasks are removed.',
    file: 'src/store/sqlite/manage/remove.ts',
    find: '    countAll(db)\n',
    replace: '    db.sql("SELECT 1")\n',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a task is removed with its logs, its attempts and its input, in every state but held',
    },
  },
  {
    name: 'a renewed session is not ended',
    promise: 'A worker that renewed in the last moment keeps its work.',
    file: 'src/store/scripts/sessions.ts',
    find: '  if (known?.renewals !== undefined && known.renewals !== session.renewals) return null\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a session that was renewed since it was looked at is not ended',
    },
  },
  {
    name: 'a broken worker is forgiven for',
    promise: 'No task is charged for a worker that crashes on everything.',
    file: 'src/store/scripts/sessions.ts',
    find: '  yield* forgive(db, holdings, forgiven)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a worker that crashes on five different tasks in a row is broken, and nobody is charged',
    },
  },
  {
    name: 'a useful worker is not broken',
    promise: 'A worker that completes tasks is not stopped for a row of bad ones.',
    file: 'src/store/scripts/sessions.ts',
    find: "cause === 'crash' && sessions.every((one) => one.completed === 0)",
    replace: "cause === 'crash'",
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a worker that completed something in between is not broken',
    },
  },
  {
    name: 'promises are synced',
    promise: 'What enqueue acknowledged survives a power cut.',
    file: 'src/store/sqlite/store.ts',
    find: "options.durability ?? 'full'",
    replace: "options.durability ?? 'normal'",
    test: {
      file: 'test/store/sqlite/durability.test.ts',
      title: 'enqueue > is on disk before it is answered',
    },
  },
  {
    name: 'a shared commit keeps its promise',
    promise: 'What shares a commit with a claim is synced all the same.',
    file: 'src/store/sqlite/file/writer.ts',
    find: "group.some((job) => job.durability === 'full')",
    replace: "group.every((job) => job.durability === 'full')",
    test: {
      file: 'test/store/sqlite/durability.test.ts',
      title: 'what shares a commit with a promise is synced with it',
    },
  },
  {
    name: 'concurrent writes share a commit',
    promise: 'A hundred callers cost one sync of the disk, not a hundred.',
    file: 'src/store/sqlite/file/writer.ts',
    find: 'const GROUP_MAX = 1_000',
    replace: 'const GROUP_MAX = 1',
    test: {
      file: 'test/store/sqlite/durability.test.ts',
      title: 'share commits, as all that is asked for in one turn does: 100 cancels need 1',
    },
  },
  {
    name: 'asynchronous effects are undone',
    promise: 'Effects that commit before they are finished commit nothing.',
    file: 'src/store/sqlite/tasks/effects.ts',
    find: "if (typeof (answer as PromiseLike<unknown> | undefined)?.then !== 'function') return hasEnqueued(tx)",
    replace: 'return hasEnqueued(tx)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'where effects are synchronous, an asynchronous callback writes nothing',
    },
  },
  {
    name: 'effects end with their transaction',
    promise: 'A callback that goes on too long writes nothing outside of its transaction.',
    file: 'src/store/sqlite/tasks/effects.ts',
    find: '    if (over) throw notSynchronous()\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'where effects are synchronous, an asynchronous callback writes nothing',
    },
  },
  {
    name: 'effects fail alone',
    promise: 'A handler whose effects throw takes nobody down who shares its commit.',
    file: 'src/store/sqlite/file/writer.ts',
    find: 'job.isolated ? this.#runIsolated(job) : this.#run(job)',
    replace: 'this.#run(job)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'effects that fail take nobody down who writes at the same time',
    },
  },
  {
    name: 'a failed commit is rolled back',
    promise: 'A write that fails leaves nothing behind, and the store goes on.',
    file: 'src/store/sqlite/file/writer.ts',
    find: '      this.#connection.rollback()\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a call of which one task cannot be stored stores none, and leaves no trace',
    },
  },
  {
    name: 'what was rolled back is forgotten',
    promise: 'After a failed write no task lands in a queue that is not its own.',
    file: 'src/store/sqlite/file/writer.ts',
    find: '      this.#onRollback()\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a call of which one task cannot be stored stores none, and leaves no trace',
    },
  },
  {
    name: 'waiting for a lock has an end',
    promise: 'A lock that is never let go is an error with a hint, not silence.',
    file: 'src/store/sqlite/file/writer.ts',
    find: 'const patient = now - job.since < this.#busyLimitMs',
    replace: 'const patient = now >= job.since',
    test: {
      file: 'test/store/sqlite/busy.test.ts',
      title: 'is answered with STORE_BUSY and what to do, and nothing is written later',
    },
  },
  {
    name: 'closing waits for writes',
    promise: 'What was asked for before the end is done.',
    file: 'src/store/sqlite/store.ts',
    find: '      await writer.settled()\n',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'what was asked for before the store closed is done',
    },
  },
  {
    name: 'newer databases are refused',
    promise: 'An old program does not write into tables it does not know.',
    file: 'src/store/sqlite/file/migrate.ts',
    find: '  refuseNewer(version, latest)\n',
    replace: '',
    test: {
      file: 'test/store/sqlite/migrations.test.ts',
      title: 'is refused with what to do, and left as it is',
    },
  },
  {
    name: 'older workers are waited for',
    promise: 'Tables do not change under a worker that writes the old way.',
    file: 'src/store/sqlite/file/migrate.ts',
    find: 'if (version > 0)\n',
    replace: 'if (version < 0)\n',
    test: {
      file: 'test/store/sqlite/migrations.test.ts',
      title: 'is refused while an older worker lives, and names it',
    },
  },
  {
    name: 'dead workers hold nothing up',
    promise: 'A crash of an old worker does not forbid the update.',
    file: 'src/store/versions.ts',
    find: 'sessions.filter((session) => !isProvedDead(session, { remote }))',
    replace: 'sessions',
    test: {
      file: 'test/store/sqlite/migrations.test.ts',
      title: 'is brought up to date when its worker is proved dead',
    },
  },
  {
    name: 'logs are bounded',
    promise: 'A handler that logs for ever does not fill the disk.',
    file: 'src/store/sqlite/manage/logs.ts',
    find: 'run(task, line - LOG_LINES_MAX)',
    replace: 'run(task, 0)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'logs are bounded: of too many lines the newest are kept',
    },
  },
  {
    name: 'due tasks count as queued',
    promise: 'Counts tell what could run now, not what was moved by a worker.',
    file: 'src/store/scripts/counts.ts',
    find: '- running + due + timed_out AS queued',
    replace: '- running AS queued',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a due task counts as queued before anything has moved it',
    },
  },
  {
    name: 'due tasks have their place in the list',
    promise: 'No page of a listing repeats or leaves out what became due.',
    file: 'src/store/scripts/task-list.ts',
    find: 'l.base + t.priority * l.step + t.run_after * l.per_ms',
    replace: '0 * l.base - 1',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'due tasks are listed page by page, each once, also when a worker moves them meanwhile',
    },
  },
  {
    name: 'crashes have a limit',
    promise: 'A poison task stops killing workers after three crashes.',
    file: 'src/model/session.ts',
    find: 'crashes >= crashLimit || ',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the third crash puts a task aside: failed, with the reason crash',
    },
  },
  {
    name: 'a broken worker is told from bad tasks',
    promise: 'A worker that crashes on everything puts no task aside.',
    file: 'src/model/session.ts',
    find: '  if (workerBroken) return',
    replace: '  if (workerBroken && false) return',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a worker that crashes on five different tasks in a row is broken, and nobody is charged',
    },
  },
  {
    name: 'several in hand are suspects',
    promise: 'A crash is charged to nobody who may be innocent.',
    file: 'src/model/session.ts',
    find: 'if (only === undefined || another !== undefined) return uncharged(held, suspected)',
    replace: 'if (only === undefined) return uncharged(held, suspected)',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'when several were running nobody is charged, and all are suspects that keep their attempt',
    },
  },
  {
    name: 'a cancelled task is not run again',
    promise: 'What somebody cancelled ends, however its last run ended.',
    file: 'src/model/outcome.ts',
    find: ' || task.cancelRequested',
    replace: '',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a task that fails after it was asked to cancel is not run again',
    },
  },
  {
    name: 'the last attempt is the last',
    promise: 'A task that always fails ends.',
    file: 'src/model/outcome.ts',
    find: 'retryAfterMs === null || task.attempts >= task.maxAttempts',
    replace: 'retryAfterMs === null',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'the last attempt that fails is the end, whatever retry was asked for',
    },
  },
  {
    name: 'retries have a cap',
    promise: 'No delay is longer than the policy says.',
    file: 'src/model/retry.ts',
    find: 'Math.min(capped + spread, policy.maxMs)',
    replace: 'capped + spread',
    test: {
      file: 'test/model/retry.test.ts',
      title: 'a delay is a whole number of milliseconds between zero and the cap, for every policy',
    },
  },
  {
    name: 'reading is of one moment',
    promise: 'Counts are exact, and no reading fails, while other processes write.',
    file: 'src/store/sqlite/file/connection.ts',
    find: "      this.statements.sql('BEGIN').run()\n",
    replace: '',
    test: {
      file: 'test/store/sqlite/snapshot.test.ts',
      title: 'counts are of one moment: what others commit meanwhile is counted as a whole, or not',
    },
  },
  {
    name: 'a dead process is seen by its pid',
    promise: 'What a killed worker held runs again within a sweep, not when its lease is over.',
    file: 'src/maintenance/sweeper.ts',
    find: "if (this.#isDead(session.process) && !this.#isLookedAfter(session)) return 'crash'",
    replace: '',
    test: {
      file: 'test/journeys/crashes.test.ts',
      title: 'a task whose worker is killed runs again in another process, long before the lease is over',
    },
  },
  {
    name: 'a pid is told from its next user by the start time',
    promise: 'A pid that is in use again does not keep a dead worker alive.',
    file: 'src/process-identity.ts',
    find: 'return now !== null && startTime !== null && now !== startTime',
    replace: 'return false',
    test: {
      file: 'test/journeys/crashes.test.ts',
      title: 'a process that has the pid of a dead worker does not keep its work',
    },
  },
  {
    name: 'a zombie has ended',
    promise: 'A dead worker whose parent never asks (a container without an init) is repaired at once, too.',
    file: 'src/process-identity.ts',
    find: "fields[0] === 'Z' ? 'ended' : ",
    replace: '',
    test: {
      file: 'test/journeys/crashes.test.ts',
      title: 'a worker that nobody has buried yet is dead all the same',
    },
  },
  {
    name: 'the first sweep is made at once',
    promise: 'A worker that is restarted repairs what the one before it left behind without waiting.',
    file: 'src/maintenance/sweeper.ts',
    find: 'void this.#round()',
    replace: 'void Promise.resolve()',
    test: {
      file: 'test/journeys/crashes.test.ts',
      title: 'the start of a worker repairs what the one before it left behind',
    },
  },
  {
    name: 'a suspect is claimed alone',
    promise: 'The next crash of a suspect has one culprit, so that a poison item is found.',
    file: 'src/model/session.ts',
    find: "return { ...returned(task, task.started ? 'crash' : null), suspect: true }",
    replace: "return { ...returned(task, task.started ? 'crash' : null), suspect: false }",
    test: {
      file: 'test/journeys/crashes.test.ts',
      title: 'whoever ran beside the item that killed the worker is not charged for it',
    },
  },
  {
    name: 'a lease runs out',
    promise: 'What a stopped or unreachable worker holds is done by somebody else.',
    file: 'src/maintenance/sweeper.ts',
    find: "return hasExpired(session.unrenewed, session.leaseMs ?? this.#options.leaseMs) ? 'lease' : null",
    replace: 'return null',
    test: {
      file: 'test/journeys/lease.test.ts',
      title: 'a worker that was stopped for longer than its lease changes nothing when it wakes up',
    },
  },
  {
    name: 'the keeper renews the lease',
    promise: 'What a worker holds stays with it for as long as it lives.',
    file: 'src/worker/keeper/renewing.ts',
    find: 'if (asked.length === 0) return',
    replace: 'return',
    test: {
      file: 'test/journeys/lease.test.ts',
      title: 'a keeper that breaks is replaced, and the claim is kept',
    },
  },
  {
    name: 'the keeper is a thread of its own',
    promise: 'A handler that blocks the event loop for longer than the lease keeps its claim.',
    file: 'src/worker/keeper/keeper.ts',
    find: '  new Thread(THREAD, { workerData: renewing, execArgv: [], resourceLimits: KEEPER_MEMORY })\n',
    replace:
      "  ((ends: any) => (void import('./renewing.ts').then(({ keepRenewing }) => keepRenewing(ends.port1, renewing)), ends.port2))(new MessageChannel())\n",
    test: {
      file: 'test/journeys/lease.test.ts',
      title: 'a handler that blocks the event loop for longer than the lease keeps its claim',
    },
  },
  {
    name: 'a keeper that breaks is replaced',
    promise: 'A worker whose keeper failed keeps its claims.',
    file: 'src/worker/keeper/keeper.ts',
    find: 'this.#thread = this.#start(plan)',
    replace: '',
    test: {
      file: 'test/journeys/lease.test.ts',
      title: 'a keeper that breaks is replaced, and the claim is kept',
    },
  },
  {
    name: 'a completion and its effects are one transaction',
    promise: 'A kill between the two leaves both or neither.',
    file: 'src/store/sqlite/store.ts',
    find: 'const enqueued = runEffects(connection, ours, effects)\n',
    replace:
      "for (const sql of ['RELEASE gleaner_job', 'COMMIT', 'BEGIN IMMEDIATE', 'SAVEPOINT gleaner_job']) db.sql(sql).run()\n          const enqueued = runEffects(connection, ours, effects)\n",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title: 'on SQLite, killed at any point of > ctx.complete',
    },
  },
  {
    name: 'settling and its counters are one transaction',
    promise: 'Counts are right whenever a worker is killed.',
    file: 'src/store/sqlite/tasks/exchange.ts',
    find: 'if (tally.write(db)) requeued = true\n  if (ended.length > 0) markUseful',
    replace:
      "db.sql('COMMIT').run()\n  db.sql('BEGIN IMMEDIATE').run()\n  if (tally.write(db)) requeued = true\n  if (ended.length > 0) markUseful",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title:
        'on SQLite, killed at any point of > claiming, running and settling, from the start of a worker to its stop',
    },
  },
  {
    name: 'a session gives everything back in one transaction',
    promise: 'A sweeper that is killed half-way does not make suspects into culprits.',
    file: 'src/store/sqlite/sessions/holdings.ts',
    find: 'applyAll(db, memory, decided, now, tally)\n',
    replace:
      "for (const one of decided) {\n                db.sql('COMMIT').run()\n                db.sql('BEGIN IMMEDIATE').run()\n                applyAll(db, memory, [one], now, tally)\n              }\n",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title:
        'on SQLite, killed at any point of > sweeping: one item, to be charged; and several, to be suspected',
    },
  },
  {
    name: 'what was promised is committed with synchronous = FULL',
    promise: 'What enqueue answered survives a power cut.',
    file: 'src/store/sqlite/file/connection.ts',
    find: 'pragma(`synchronous = ',
    replace: 'pragma(`synchronous = normal -- ',
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'no enqueue is answered before its bytes are synced',
    },
  },
  {
    name: 'ctx.complete is a promise',
    promise: 'Effects and completion survive a power cut once ctx.complete has resolved.',
    file: 'src/store/sqlite/store.ts',
    find: 'const completed = await write(\n          promised,',
    replace: "const completed = await write(\n          'normal',",
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'complete is not answered before its bytes are synced',
    },
  },
  {
    name: 'cancel, retry and pause are promises',
    promise: 'What an operator was answered survives a power cut.',
    file: 'src/store/sqlite/file/scripts.ts',
    find: 'write: (script) => write(promised, ',
    replace: "write: (script) => write('normal', ",
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'cancel is not answered before its bytes are synced',
    },
  },
  {
    name: 'plain completions are not synced',
    promise: 'A worker is not slowed down by syncs that nobody was promised.',
    file: 'src/store/sqlite/store.ts',
    find: "await write('normal', () => {\n          const effect = exchangeTasks(",
    replace: "await write('full', () => {\n          const effect = exchangeTasks(",
    test: {
      file: 'test/torture/durability.test.ts',
      title: 'plain completions and claims do not wait for the disk',
    },
  },
  {
    name: 'a handler that ignores its signal is given up after the grace',
    promise: 'A task ends in time, even if its handler never does.',
    file: 'src/worker/in-flight.ts',
    find: 'this.settle(attempt, outcomeOfError(attempt, abortReason), this.#options.clock.monotonicMs())',
    replace: '',
    test: {
      file: 'test/journeys/timeouts.test.ts',
      title:
        'does not wait for a handler that ignores it: after the grace the task has failed, the slot is still taken',
    },
  },
  {
    name: 'the slot stays taken until the handler returns',
    promise: 'Handlers that ignore their time-out do not pile up beyond the concurrency.',
    file: 'src/worker/in-flight.ts',
    find: 'this.settle(attempt, outcomeOfError(attempt, abortReason), this.#options.clock.monotonicMs())',
    replace:
      'this.remove(attempt)\n    this.settle(attempt, outcomeOfError(attempt, abortReason), this.#options.clock.monotonicMs())',
    test: {
      file: 'test/journeys/timeouts.test.ts',
      title:
        'does not wait for a handler that ignores it: after the grace the task has failed, the slot is still taken',
    },
  },
  {
    name: 'a stop hands back what was claimed ahead',
    promise: 'After the word to stop nothing new is begun.',
    file: 'src/worker/worker.ts',
    find: 'suspectsWaiting(inFlight, false)\n    executor.isOpen = false',
    replace: 'suspectsWaiting(inFlight, false)',
    test: {
      file: 'test/journeys/stopping.test.ts',
      title: 'what was claimed ahead goes back as well, uncharged',
    },
  },
  {
    name: 'what is handed back costs no attempt',
    promise: 'A deploy never uses up the attempts of a task.',
    file: 'src/model/outcome.ts',
    find: 'attempts: task.attempts - 1,',
    replace: 'attempts: task.attempts,',
    test: {
      file: 'test/journeys/stopping.test.ts',
      title: 'what is unfinished when the drain time is over goes back, and costs no attempt',
    },
  },
  {
    name: 'items held ahead go back when their time has not come',
    promise: 'An idle worker gets what a busy one holds and cannot start.',
    file: 'src/worker/loop.ts',
    find: 'executor.returnStale(services.clock.monotonicMs())',
    replace: '',
    test: {
      file: 'test/journeys/stopping.test.ts',
      title: 'items held ahead go back to others when the one before them takes its time',
    },
  },
  {
    name: 'a suspect goes first in an empty house',
    promise: 'What a crash left behind is not starved by work that goes on.',
    file: 'src/worker/isolation/crash-isolation.ts',
    find: 'return this.isEmpty && this.#members.get(holder)!.suspectWaits',
    replace: 'return this.isEmpty',
    test: {
      file: 'test/worker/crash-isolation.test.ts',
      title: 'in an empty house the worker goes first whose suspect waits',
    },
  },
  {
    name: 'who leaves holds nobody back',
    promise: 'Work goes on while a worker drains.',
    file: 'src/worker/isolation/crash-isolation.ts',
    find: 'suspectsWaiting && state.isWorking',
    replace: 'suspectsWaiting',
    test: {
      file: 'test/worker/leaving.test.ts',
      title: 'a worker that was told to stop holds nobody back for a suspect of its own',
    },
  },
  {
    name: 'whoever held back for a suspect is woken',
    promise: 'Work goes on as soon as a suspect has run.',
    file: 'src/worker/isolation/crash-isolation.ts',
    find: 'if (wasSuspect || this.#suspectWaits) this.#nudgeAll()',
    replace: '',
    test: {
      file: 'test/worker/crash-isolation.test.ts',
      title: 'the end of a suspect is told to all: they held back for it',
    },
  },
  {
    name: 'items held ahead do not grow younger',
    promise: 'A worker hoards no items that turn out to be slow.',
    file: 'src/worker/prefetch/prefetched.ts',
    find: 'return this.#batches[0]?.sinceMs',
    replace: 'return this.#batches.at(-1)?.sinceMs',
    test: {
      file: 'test/worker/in-flight.test.ts',
      title: 'items that are claimed later make those that wait no younger',
    },
  },
  {
    name: 'a cancel reaches what runs',
    promise: 'A running task in another process can be cancelled.',
    file: 'src/worker/loop.ts',
    find: 'for (const id of answer.cancels) inFlight.cancel(id)',
    replace: '',
    test: {
      file: 'test/journeys/cancelling.test.ts',
      title: 'a running task in another process is reached at once, although that would look only in an hour',
    },
  },
  {
    name: 'cancels are looked for',
    promise: 'A cancel whose wake-up is lost arrives nevertheless.',
    file: 'src/worker/polling.ts',
    find: '    if (isBusy) return this.#timings.pollMs\n',
    replace: '',
    test: {
      file: 'test/journeys/cancelling.test.ts',
      title: 'it is reached also when every wake-up is lost, a little later',
    },
  },
  {
    name: 'a cancelled task whose worker died is not run again',
    promise: 'A cancel is not forgotten with the worker that it was meant for.',
    file: 'src/model/session.ts',
    find: 'function charged(task: Held, signature: string | undefined): Transition {\n  if (task.cancelRequested) return cancelled(task)',
    replace: 'function charged(task: Held, signature: string | undefined): Transition {',
    test: {
      file: 'test/journeys/cancelling.test.ts',
      title: 'a task whose worker dies after the cancel is cancelled, not run again',
    },
  },
  {
    name: 'other processes are woken',
    promise: 'An idle worker in another process picks up at once.',
    file: 'src/store/sqlite/file/wake-watch.ts',
    find: "this.#options.onSignal('work')",
    replace: '',
    test: {
      file: 'test/journeys/waking.test.ts',
      title: 'an idle worker in another process picks up at once, although it would look only in minutes',
    },
  },
  {
    name: 'an idle worker looks by itself',
    promise: 'Losing every wake-up costs latency, never work.',
    file: 'src/worker/polling.ts',
    find: 'this.#nextLookMs(inFlight.running > 0)',
    replace: 'inFlight.running > 0 ? this.#nextLookMs(true) : Number.POSITIVE_INFINITY',
    test: { file: 'test/journeys/waking.test.ts', title: 'losing every wake-up costs latency only' },
  },
  {
    name: 'a worker knows when the next task is due',
    promise: 'A delayed task starts when its time comes.',
    file: 'src/worker/polling.ts',
    find: 'reasons.push(source.nextDueMs - nowMs)',
    replace: '',
    test: {
      file: 'test/journeys/waking.test.ts',
      title: 'a task whose time comes is picked up then, although nothing wakes anybody',
    },
  },
  {
    name: 'awaited results end with close',
    promise: 'A process that has closed Gleaner ends, whoever still waits.',
    file: 'src/engine/open.ts',
    find: 'handles.results.close()',
    replace: '',
    test: {
      file: 'test/journeys/stopping.test.ts',
      title: 'a result that is awaited does not keep a closed process alive: it is refused',
    },
  },
  {
    name: 'within needs a transaction',
    promise: 'What was meant to be atomic with your writes is never written without them.',
    file: 'src/store/sqlite/tasks/within.ts',
    find: 'if (!raw.inTransaction) {',
    replace: 'if (raw.inTransaction === undefined) {',
    test: { file: 'test/journeys/own-transaction.test.ts', title: 'it is refused outside a transaction' },
  },
  {
    name: 'within needs the same file',
    promise: 'A task is never written to a database that no worker looks at.',
    file: 'src/store/sqlite/tasks/within.ts',
    find: 'if (!ours.connections.has(raw) && !isSameFile(raw.name, ours.path)) {',
    replace: "if (raw.name === '') {",
    test: { file: 'test/journeys/own-transaction.test.ts', title: 'it is refused on another file' },
  },
  {
    name: 'a locked database is waited for',
    promise: "Nobody is told SQLITE_BUSY while the app's own transactions run.",
    file: 'src/store/sqlite/file/sql-errors.ts',
    find: 'return hasCode(error, /^SQLITE_(BUSY|LOCKED)/)',
    replace: 'return error === undefined',
    test: {
      file: 'test/store/sqlite/busy.test.ts',
      title: 'a write lock that another process holds for a while costs waiting, and no error',
    },
  },
  {
    name: 'a crash is of the whole process',
    promise: 'Who runs in another worker of the process that died is not charged.',
    file: 'src/store/scripts/sessions.ts',
    find: "lockSessions(db, id, cause === 'crash')",
    replace: 'lockSessions(db, id, false)',
    test: {
      file: 'test/journeys/crashes.test.ts',
      title: 'whoever runs in another worker of the process that died is not charged, either',
    },
  },
  {
    name: 'postgres: a completion proves its fence',
    promise: 'A worker that woke up too late completes nothing.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'tasks.fence = given.fence AND ',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a completion with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: a completion proves its session',
    promise: 'Nobody completes what another session holds.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'AND tasks.session =',
    replace: 'AND 0 <',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: "a completion with the fence of another session's claim is refused and changes nothing",
    },
  },
  {
    name: 'postgres: every other outcome proves its fence',
    promise: 'A late failure, put-off or hand-back takes no task from its new holder.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'return task?.fence === fence ? task : null',
    replace: 'return task ?? null',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a put-off with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: every other outcome proves its session',
    promise: 'A late failure, put-off or hand-back takes no task from another session.',
    file: 'src/store/postgres/tasks/transition.ts',
    find: 'AND session = $2 ORDER BY tasks.id',
    replace: 'AND $2::bigint > 0 ORDER BY tasks.id',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: "a hand-back with the fence of another session's claim is refused and changes nothing",
    },
  },
  {
    name: 'postgres: a start proves its fence',
    promise: 'A late start does not show as running what somebody else holds.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'tasks.fence = given.fence AND ',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a start with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: progress proves its fence',
    promise: 'A late worker does not write its progress over that of the new one.',
    file: 'src/store/postgres/tasks/run-reports.ts',
    find: 'tasks.fence = given.fence AND ',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'progress with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: a log line proves its fence',
    promise: 'A late worker does not write into the log of the new attempt.',
    file: 'src/store/postgres/manage/logs.ts',
    find: 'coalesce(tasks.fence, given.fence) = given.fence',
    replace: 'given.fence > 0',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a log line with a stale fence is refused and changes nothing',
    },
  },
  {
    name: 'postgres: handing in and claiming needs a live session',
    promise: 'A session that was ended gets no new work for its late results.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'if (!outlook?.live) {',
    replace: 'if (!outlook) {',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'an ended session that hands in work and wants more gets nothing for it',
    },
  },
  {
    name: 'postgres: a look needs a live session',
    promise: 'A worker whose session was ended learns it although there is nothing to do.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: 'if (!outlook?.live) return ended(exchange)\n',
    replace: 'if (!outlook) return ended(exchange)\n',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'an ended session is told so when it only looks, and there is nothing to claim',
    },
  },
  {
    name: 'postgres: a session lives until the commit',
    promise: 'A session that is ended while it claims leaves no task in the hands of nobody.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: ' FOR KEY SHARE OF sessions',
    replace: '',
    test: {
      file: 'test/store/postgres/sessions.test.ts',
      title: 'a session that is ended while it claims gives back what it claims, too',
    },
  },
  {
    name: 'postgres: a renewed session is not ended',
    promise: 'A worker that renewed in the last moment keeps its work.',
    file: 'src/store/scripts/sessions.ts',
    find: '  if (known?.renewals !== undefined && known.renewals !== session.renewals) return null\n',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a session that was renewed since it was looked at is not ended',
    },
  },
  {
    name: 'postgres: a broken worker is forgiven for',
    promise: 'No task is charged for a worker that crashes on everything.',
    file: 'src/store/scripts/sessions.ts',
    find: '  yield* forgive(db, holdings, forgiven)\n',
    replace: '',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a worker that crashes on five different tasks in a row is broken, and nobody is charged',
    },
  },
  {
    name: 'postgres: a useful worker is not broken',
    promise: 'A worker that completes tasks is not stopped for a row of bad ones.',
    file: 'src/store/scripts/sessions.ts',
    find: "cause === 'crash' && sessions.every((one) => one.completed === 0)",
    replace: "cause === 'crash'",
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a worker that completed something in between is not broken',
    },
  },
  {
    name: 'postgres: what is held is not claimed',
    promise: 'Two claimants never get the same task.',
    file: 'src/store/postgres/tasks/take.ts',
    find: "const READY = 'in_line AND NOT suspect'",
    replace: "const READY = `status = 'queued' AND NOT suspect`",
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'what a worker holds but has not started shows as queued, and nobody else gets it',
    },
  },
  {
    name: 'postgres: suspects are left to empty workers',
    promise: 'A task that may crash its worker takes no innocent ones with it.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: 'const alone = want.empty && (outlook.suspects || due)',
    replace: 'const alone = outlook.suspects || due',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a suspect blocks nobody else: a worker that holds something passes it, and is told of it',
    },
  },
  {
    name: 'postgres: the pause of everything',
    promise: 'While everything is paused nobody claims anything.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: 'want === null || row.everything',
    replace: 'want === null',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'the pause of everything holds for all queues, also for those that come later',
    },
  },
  {
    name: 'postgres: the pause of a queue',
    promise: 'A paused queue gives nothing.',
    file: 'src/store/postgres/tasks/preconditions.ts',
    find: 'lanes.open(want.able, row.queues)',
    replace: 'lanes.open(want.able)',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a paused queue gives nothing, to no store, until it is resumed; others go on',
    },
  },
  {
    name: 'postgres: keys are locked',
    promise: 'A key makes one task, also when a transaction of the user holds it back.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: 'SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(key, 7)) FROM',
    replace: 'SELECT hashtextextended(key, 7) FROM',
    test: {
      file: 'test/store/postgres/within.test.ts',
      title: 'a key in a transaction keeps the others waiting until it ends, and never makes two',
    },
  },
  {
    name: 'postgres: keys for ever',
    promise: 'A key for ever outlives its task.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: 'SELECT key, task AS id FROM gleaner.forever_keys WHERE key = ANY($1)',
    replace: 'SELECT key, task AS id FROM gleaner.forever_keys WHERE key = ANY($1) AND false',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a key for ever outlives its task, and ends when the task is removed',
    },
  },
  {
    name: 'postgres: retrying asks for the key',
    promise: 'Retrying by hand makes no second task with the same key.',
    file: 'src/model/task-change.ts',
    find: "keyHolder === undefined || keyHolder === id ? 'retry' : { keyHeldBy: keyHolder }",
    replace: "'retry'",
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'retrying by hand while another task holds the key is refused and names it',
    },
  },
  {
    name: 'postgres: what is held is not removed',
    promise: 'A running task does not vanish under its worker.',
    file: 'src/model/task-change.ts',
    find: "return held ? 'running' : 'remove'",
    replace: "return 'remove'",
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a task that somebody holds is not removed',
    },
  },
  {
    name: 'postgres: a lost claim goes back',
    promise: 'What was claimed in an exchange whose answer was lost is run.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: '  if (holding === undefined) return { unknown: false, lost: [] }\n',
    replace: '  if (holding !== null) return { unknown: false, lost: [] }\n',
    test: {
      file: 'test/store/postgres/lost-answers.test.ts',
      title: 'what the lost exchange claimed goes back, and another worker runs it',
    },
  },
  {
    name: 'postgres: lines are kept once',
    promise: 'A log does not say everything twice because an answer was lost.',
    file: 'src/store/postgres/manage/logs.ts',
    find: '    holding !== undefined,\n',
    replace: '    false,\n',
    test: {
      file: 'test/store/postgres/lost-answers.test.ts',
      title: 'log lines handed in with it are kept once',
    },
  },
  {
    name: 'postgres: what is in doubt is not tried again',
    promise: 'Concurrent enqueues make no task twice when an answer is lost.',
    file: 'src/store/postgres/server/gathering.ts',
    find: ' && !isInDoubt(error)',
    replace: '',
    test: {
      file: 'test/store/postgres/lost-answers.test.ts',
      title:
        'answer: callers that shared a statement whose answer is lost all hear of it, and nothing is there twice',
    },
  },
  {
    name: 'postgres: effects do not hold the keeper up',
    promise: 'A long ctx.complete does not cost its worker the lease.',
    file: 'src/store/postgres/store.ts',
    find: '        await effects(ofCallback',
    replace: '        await markUseful(own, rowid(session))\n        await effects(ofCallback',
    test: {
      file: 'test/store/postgres/sessions.test.ts',
      title: 'the keeper does not wait for a transaction of its worker, however long that takes',
    },
  },
  {
    name: 'postgres: one process migrates',
    promise: 'Processes that start together do not change the tables twice.',
    file: 'src/store/postgres/server/migrate.ts',
    find: "await sql.run('SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))', [",
    replace: "await sql.run('SELECT hashtextextended($1, 0)', [",
    test: {
      file: 'test/store/postgres/migrations.test.ts',
      title: '8 engines that open a fresh schema at the same moment all work: one migrates, the others wait',
    },
  },
  {
    name: 'postgres: every connection has a lock time-out',
    promise: 'Nothing waits for a lock for ever.',
    file: 'src/store/postgres/server/settings.ts',
    find: '    lock_timeout: options.lockTimeoutMs ?? TIMEOUTS_MS.lock,\n',
    replace: '',
    test: {
      file: 'test/store/postgres/connections.test.ts',
      title: 'of the pool, the listener and the keeper has its time-outs from the start',
    },
  },
  {
    name: 'postgres: schemas have harmless names',
    promise: 'A schema from a configuration is no way to run SQL.',
    file: 'src/store/postgres/server/database.ts',
    find: 'if (!/^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/.test(schema)) {',
    replace: 'if (schema.length > 63) {',
    test: {
      file: 'test/store/postgres/errors.test.ts',
      title: 'a schema with a hostile name is refused before anybody connects',
    },
  },
  {
    name: 'postgres: a URL that cannot be read is not repeated',
    promise: 'A password is in no error.',
    file: 'src/store/postgres/server/server-url.ts',
    find: 'if (!areNamed || !urls.every(isReadable)) {',
    replace: 'if (!areNamed) {',
    test: { file: 'test/store/postgres/errors.test.ts', title: 'what is no URL is refused and not repeated' },
  },
  {
    name: 'postgres: the last wake-up is sent',
    promise: 'Who enqueues and leaves is heard at once.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: '    if (this.#sendTimer !== undefined) await this.#send()\n',
    replace: '',
    test: {
      file: 'test/store/postgres/wakeups.test.ts',
      title: 'is sent before a store that has just written something is closed',
    },
  },
  {
    name: 'postgres: a new subscription looks',
    promise: 'What was enqueued while the listener was deaf is found.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: "        if (this.#client !== undefined) this.#tell({ kind: 'elsewhere' })\n",
    replace: '',
    test: {
      file: 'test/store/postgres/wakeups.test.ts',
      title: 'subscribes again, and finds what was enqueued while it was deaf',
    },
  },
  {
    name: 'postgres: a worker that is not free passes tasks on',
    promise: 'A task is not left waiting because the worker that was told of it is busy.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: 'if (isOurs && !isTaken && place',
    replace: 'if (isOurs && isTaken && place',
    test: {
      file: 'test/store/postgres/wake-one.test.ts',
      title: 'one task is told to one worker that is free, and several to several',
    },
  },
  {
    name: 'postgres: notifications are debounced',
    promise: 'A flood of enqueues does not make all commits of the server wait in line.',
    file: 'src/store/postgres/server/wakeups.ts',
    find: '{ work: 5, ended: 25 }',
    replace: '{ work: 0, ended: 25 }',
    test: {
      file: 'test/store/postgres/wakeups.test.ts',
      title: 'is one for many: there is at most one every few milliseconds, however many enqueue',
    },
  },
  {
    name: 'postgres: a new lane needs no second connection',
    promise: 'Workers that hold all connections do not wait for each other.',
    file: 'src/store/postgres/tasks/lanes.ts',
    find: 'this.#lanes.has(highest)) await this.refresh(sql)',
    replace: 'this.#lanes.has(highest)) await this.refresh()',
    test: {
      file: 'test/store/postgres/connections.test.ts',
      title: 'of 1 is enough for each verb: none holds a connection and waits for another',
    },
  },
  {
    name: 'postgres: a lane is made before the transaction',
    promise: 'An enqueue with a key does not wait for a connection while it holds one.',
    file: 'src/store/postgres/store.ts',
    find: '    await lanes.learn(tasks)\n',
    replace: '',
    test: {
      file: 'test/store/postgres/connections.test.ts',
      title: 'of 1 is enough for each verb: none holds a connection and waits for another',
    },
  },
  {
    name: 'postgres: a crash is of the whole process',
    promise: 'Who runs in another worker of the process that died is not charged.',
    file: 'src/store/scripts/sessions.ts',
    find: "lockSessions(db, id, cause === 'crash')",
    replace: 'lockSessions(db, id, false)',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a crash ends all sessions of the process, and what they held is judged together',
    },
  },
  {
    name: 'testing: nothing is claimed unless the test says so',
    promise: 'What a test has enqueued waits until the test runs it.',
    file: 'src/testing/gate.ts',
    find: '!this.#isOpen || exchange.want === null',
    replace: 'exchange.want === null',
    test: {
      file: 'test/testing/running.test.ts',
      title: 'before the test says so, also with a worker',
    },
  },
  {
    name: 'testing: nothing is held ahead',
    promise: 'In a test the order of the runs is the order of the queue.',
    file: 'src/testing/gate.ts',
    find: '{ ...exchange.want, ahead: 0 }',
    replace: '{ ...exchange.want }',
    test: {
      file: 'test/testing/running.test.ts',
      title: 'runs what became urgent meanwhile before what waits',
    },
  },
  {
    name: 'testing: what is enqueued within a transaction is noticed',
    promise: 'runUntilIdle leaves nothing that is due.',
    file: 'src/testing/gate.ts',
    find: '      this.#tell()\n      return within',
    replace: '      return within',
    test: {
      file: 'test/testing/running.test.ts',
      title: 'runs what a listener enqueues inside a transaction',
    },
  },
  {
    name: 'testing: time stands still while a handler runs',
    promise: 'A handler that waits for real files or servers is awaited, and not timed out.',
    file: 'src/testing/passage.ts',
    find: 'gate.isQuiet && running === runs.sleeping',
    replace: 'gate.isQuiet',
    test: {
      file: 'test/testing/running.test.ts',
      title: "awaits a handler's own timers, files and processes",
    },
  },
  {
    name: 'testing: who waits for time is heard before it moves on',
    promise: 'Time stops for what a timer sets off outside of the engine.',
    file: 'src/testing/passage.ts',
    find: '      await new Promise(setImmediate)\n',
    replace: '',
    test: {
      file: 'test/testing/time.test.ts',
      title: 'stops for what somebody enqueues who waited for it',
    },
  },
  {
    name: 'testing: endless work is stopped',
    promise: 'A task that enqueues itself for ever ends with an error that names it.',
    file: 'src/testing/passage.ts',
    find: 'if (runs.started > runLimit) gate.shut()\n',
    replace: '',
    test: { file: 'test/testing/running.test.ts', title: 'refuses work without end, and names it' },
  },
  {
    name: 'testing: runs are counted while time stands still',
    promise: 'What runs now and then is not endless, however long the time that passes.',
    file: 'src/testing/passage.ts',
    find: 'if (clock.monotonicMs() > before) runs.countAnew()',
    replace: '',
    test: { file: 'test/testing/running.test.ts', title: 'counts only what runs while time stands still' },
  },
  {
    name: 'testing: a test waits for a handler, but not for ever',
    promise: 'A handler that does not return ends the test with an error that names it.',
    file: 'src/testing/passage.ts',
    find: 'await Promise.race([bell.next(), stuck])',
    replace: 'await bell.next()',
    test: {
      file: 'test/testing/running.test.ts',
      title: 'gives up on a handler that does not return, and names it',
    },
  },
  {
    name: 'testing: due tasks run at their own time',
    promise: 'Time stops at everything that is due on its way.',
    file: 'src/testing/passage.ts',
    find: '        await this.#settled()\n      }',
    replace: '      }',
    test: {
      file: 'test/testing/time.test.ts',
      title: 'runs at its own time, and in order, when time moves past several',
    },
  },
  {
    name: 'testing: retries come without jitter',
    promise: 'In a test a retry comes exactly when its backoff says.',
    file: 'src/worker/attempt.ts',
    find: 'return retryDelayMs(policy, attempt, this.services.random())',
    replace: 'return retryDelayMs(policy, attempt, Math.random())',
    test: {
      file: 'test/testing/time.test.ts',
      title: 'is tried again exactly when its backoff says, without jitter',
    },
  },
  {
    name: 'testing: nobody looks in vain in the time of a test',
    promise: 'Days of the time of a test pass in milliseconds.',
    file: 'src/testing/open.ts',
    find: 'poll: NEVER,',
    replace: "poll: '1s',",
    test: {
      file: 'test/testing/time.test.ts',
      title: 'passes by a thousand days in little more than a thousand tasks take, with one on each of them',
    },
  },
  {
    name: 'postgres: dead rows are kept off',
    promise:
      'A transaction held open somewhere does not make every claim step over all that was claimed before.',
    file: 'src/store/postgres/tasks/low-water.ts',
    find: '    if (this.walkAgainInMs() === 0) return wholePath(ways)\n',
    replace: '    return wholePath(ways)\n',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'a claim steps over the last batch of dead rows, not over all 30 000 that nobody can clean away',
    },
  },
  {
    name: 'postgres: each priority has its mark',
    promise: 'A task with a higher priority is the next, also while claims keep off dead rows.',
    file: 'src/store/postgres/tasks/low-water.ts',
    find: 'const priority = Math.floor(rank / PRIORITY_STEP)',
    replace: 'const priority = 0',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'a task with a higher priority that comes later is the next',
    },
  },
  {
    name: 'postgres: marks are not for ever',
    promise: 'A task that was given back behind a mark is found again.',
    file: 'src/store/postgres/tasks/low-water.ts',
    find: 'this.#clock.monotonicMs() + restMs',
    replace: 'Number.POSITIVE_INFINITY',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'a task that was given back keeps its place, and is the next within a second',
    },
  },
  {
    name: 'postgres: what a look has seen is claimed',
    promise: 'A task that was committed late does not wait for ever behind a mark.',
    file: 'src/store/postgres/tasks/peek.ts',
    find: '  if (!ready) lowWater.walked(',
    replace: '  lowWater.walked(',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title:
        'a task that was committed late, before all that were claimed meanwhile, is the next within a second, step by step',
    },
  },
  {
    name: 'postgres: drained means everywhere',
    promise: 'A worker is not drained while a task waits behind a mark.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: 'return want.thorough ?',
    replace: 'return want.thorough === null ?',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'who must know that there is nothing looks everywhere',
    },
  },
  {
    name: 'postgres: effects enqueue on their own connection',
    promise: 'Completions that enqueue what follows do not wait for each other until they all fail.',
    file: 'src/worker/context.ts',
    find: 'tx === undefined ? this.#services.enqueue(...args)',
    replace: 'tx !== null ? this.#services.enqueue(...args)',
    test: {
      file: 'test/store/postgres/within.test.ts',
      title: 'effects that hold all connections of the pool may enqueue: none of them needs another',
    },
  },
  {
    name: 'what follows is enqueued with the completion',
    promise: 'A task that follows exists if, and only if, the one before is completed.',
    file: 'src/worker/context.ts',
    find: 'tx === undefined ? this.#services.enqueue(...args)',
    replace: 'tx !== null ? this.#services.enqueue(...args)',
    test: {
      file: 'test/journeys/completing.test.ts',
      title: 'ctx.enqueue in the callback enqueues with the completion, or not at all',
    },
  },
  {
    name: 'postgres: a completion whose answer was lost is told',
    promise: 'What was completed is told as completed, not as a claim that was lost.',
    file: 'src/store/postgres/tasks/exchange.ts',
    find: '  if (holding !== undefined) ended.push(...(await completedBefore(sql, session, outcomes, ended)))\n',
    replace: '',
    test: {
      file: 'test/store/postgres/lost-answers.test.ts',
      title: 'answer: a commit whose answer is lost runs nothing twice and loses nothing',
    },
  },
  {
    name: 'postgres: effects and completion are one transaction',
    promise: 'A worker that is killed in the middle leaves no effect of a task that is run again.',
    file: 'src/store/postgres/server/settings.ts',
    find: "const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'",
    replace: "const BEGIN = 'SELECT 1'",
    test: {
      file: 'test/torture/kill-points.test.ts',
      title: 'on PostgreSQL, killed at any point of > ctx.complete',
    },
  },
  ...RECURRING,
  ...RESOURCES,
  ...MANAGEMENT,
  ...DISCOVERY,
  ...DISCOVERY_POSTGRES,
  ...DISCOVERY_SPEED,
  ...LIMITS,
  ...CONNECTIONS,
  ...SERVER_LIFE,
  ...ALTERED_TABLES,
  ...BOUNDS,
  ...SQLITE_FILES,
  ...BATCHES,
  ...STATES,
  ...SQLITE_LIBRARIES,
  ...STRATEGIES,
  ...POSTGRES_BATCHES,
  ...POSTGRES_SETTINGS,
  ...PLAIN_EXCHANGE,
  ...LEASES,
  ...MAINTENANCE,
  ...HTTP,
  ...CLAIMS,
  ...DASHBOARD,
  ...DISCOVERY_WORKER,
  ...SUPERVISOR,
  ...CONFIG,
  ...COPY,
  ...HEALTH,
  ...FOREIGN,
  ...TELEMETRY,
  ...VALUES,
  ...CLI,
  ...FOLLOWING,
  ...PROGRESS_LINES,
]
