import type { Guard } from './guard.ts'

/** Crashes are repaired, and a poison item hurts no other. */
export const CRASHES: readonly Guard[] = [
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
    name: 'postgres: suspects are left to empty workers',
    promise: 'A task that may crash its worker takes no innocent ones with it.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: 'const alone = want.empty && (outlook.suspects || due || outlook.hasFreedOrders)',
    replace: 'const alone = outlook.suspects || due || outlook.hasFreedOrders',
    test: {
      file: 'test/store/postgres.conformance.test.ts',
      title: 'a suspect blocks nobody else: a worker that holds something passes it, and is told of it',
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
    name: 'keeper: it does not renew for a worker that cannot reach the store',
    promise: 'The work of a worker that is cut off is done by others after the lease.',
    file: 'src/worker/keeper/renewing.ts',
    find: '[...sessions].filter((session) => !cutOff.has(session))',
    replace: '[...sessions]',
    test: {
      file: 'test/store/postgres/silent-connections.test.ts',
      title:
        'a connection that is silently dead > of the worker, whose keeper still reaches the server for longer than the lease: another worker takes over, and the first one goes on when it is heard again',
    },
  },
  {
    name: 'leases: a host name proves no death',
    promise: 'A process is proved dead only by a process that can see it.',
    file: 'src/process-identity.ts',
    find: 'if (remote || identity.host',
    replace: 'if (identity.host',
    test: {
      file: 'test/process-identity.test.ts',
      title:
        'a process is proved dead > by another boot of its host where one file is shared, and never where a server is',
    },
  },
  {
    name: 'leases: containers on one machine do not see each other',
    promise: 'A process is proved dead only by a process that can see it.',
    file: 'src/process-identity.ts',
    find: 'return kernelOf(identity.boot) !== kernelOf(boot)',
    replace: 'return kernelOf(identity.boot) !== boot',
    test: {
      file: 'test/process-identity.test.ts',
      title:
        'a process that lives > is not proved dead from another container, whose hostname is the same and where its pid is another process or none',
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
    name: 'sqlite: a crash is shown on another row',
    promise: 'A worker that crashes on everything is found out before a row is put aside.',
    file: 'src/store/sqlite/rows/claim.ts',
    find: 'keys.filter((key) => !avoided.includes(key))',
    replace: 'keys',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'a worker that would rather show on another row that it is broken is not given the same',
    },
  },
]
