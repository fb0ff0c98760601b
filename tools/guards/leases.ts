import type { Guard } from './guard.ts'

const SWEEPER = 'test/maintenance/sweeper.test.ts'
const IDENTITY = 'test/process-identity.test.ts'
const CONFORMANCE = 'test/store/sqlite.conformance.test.ts'
const CLOCK = 'src/model/lease-clock.ts'

/** When a session ends: by proof, or by its lease. */
export const LEASES: readonly Guard[] = [
  {
    name: 'leases: a time in which nobody could renew does not count',
    promise: 'A session ends only when renewals were possible and did not come.',
    file: CLOCK,
    find: 'stepMs <= leaseMs * STEP_MAX_PER_LEASE ? stepMs',
    replace: 'leaseMs * STEP_MAX_PER_LEASE > 0 ? stepMs',
    test: { file: SWEEPER, title: 'a session > does not end when the clock is set years ahead' },
  },
  {
    name: 'leases: a gap counts a little',
    promise: 'A lease ends also where every process lives for a short time.',
    file: CLOCK,
    find: 'leaseMs * GAP_PER_LEASE)',
    replace: '0 * GAP_PER_LEASE)',
    test: {
      file: SWEEPER,
      title: 'a session > whose worker is gone ends also where every process lives for less than a renewal',
    },
  },
  {
    name: 'leases: a renewal that failed is tried again soon',
    promise: 'A session is renewed before others that can renew see its lease run out.',
    file: 'src/worker/keeper/renewing.ts',
    find: 'everyMs / RETRIES_PER_RENEWAL',
    replace: 'everyMs * RETRIES_PER_RENEWAL',
    test: {
      file: 'test/worker/renewing.test.ts',
      title: 'a renewal that failed is tried again long before the next one is due',
    },
  },
  {
    name: 'leases: a host name proves no death',
    promise: 'A process is proved dead only by a process that can see it.',
    file: 'src/process-identity.ts',
    find: 'if (remote || identity.host',
    replace: 'if (identity.host',
    test: {
      file: IDENTITY,
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
      file: IDENTITY,
      title:
        'a process that lives > is not proved dead from another container, whose hostname is the same and where its pid is another process or none',
    },
  },
  {
    name: 'leases: a /proc of another namespace tells no start times',
    promise: 'A process is proved dead only by a process that can see it.',
    file: 'src/process-identity.ts',
    find: 'showsStartTimes ??= attempt(procIsOurs, false)',
    replace: 'showsStartTimes ??= attempt(procIsOurs, false) || true',
    test: {
      file: IDENTITY,
      title: 'a process that lives > is not proved dead where /proc shows the processes of another namespace',
    },
  },
  {
    name: 'supervisor: a default name that another container uses gets a number',
    promise: 'Two supervisors on hosts of one name do not end each other.',
    file: 'src/supervisor/leadership.ts',
    find: '    if (await isHeldElsewhere(store, name, logger, clock)) continue\n',
    replace:
      '    await isHeldElsewhere(store, name, logger, clock)\n    await store.takeLeadership(name, identifySelf(), 1)\n',
    test: {
      file: 'test/supervisor/names.test.ts',
      title:
        'supervisors in two containers that share a host name have a name each, and end none of the other',
    },
  },
  {
    name: 'recurring: a clock that is set back plans anew',
    promise: 'What recurs does not wait until a clock that was set back has caught up.',
    file: 'src/model/schedule.ts',
    find: '  if (nextAt <= next) return null\n',
    replace: '  if (nextAt <= next || lastAt !== nextAt) return null\n',
    test: {
      file: CONFORMANCE,
      title:
        'schedules > a clock that was ahead by an hour when an occurrence fell due stops nothing when it is set back',
    },
  },
  {
    name: 'recurring: the last occurrence does not come again',
    promise: 'No occurrence is enqueued again because the clock went back by a moment.',
    file: 'src/model/schedule.ts',
    find: 'next === lastAt ? nextOccurrence(schedule, next) : next',
    replace: 'next === -1 ? nextOccurrence(schedule, lastAt ?? next) : next',
    test: {
      file: CONFORMANCE,
      title: 'schedules > an occurrence does not come again when the clock is set back by a moment',
    },
  },
]
