import type { Guard } from './guard.ts'

const SQLITE = 'test/store/sqlite.conformance.test.ts'
const POSTGRES = 'test/store/postgres.conformance.test.ts'
const DRAWS = 'test/store/sqlite/weighted.test.ts'

/** What every strategy promises, whatever the store. */
const IN_THE_MODEL: Guard[] = [
  {
    name: 'a type takes turns',
    promise: 'Between types the queue decides, and a type of its own order decides which of its tasks goes.',
    file: 'src/model/chosen-order.ts',
    find: 'rank: turns[i]!.rank, turnOf: turns[i]!.id',
    replace: 'turnOf: task.id',
    test: {
      file: SQLITE,
      title: 'a type takes its own order among its tasks, and its turns as the queue says',
    },
  },
  {
    name: 'a chosen order reads every priority',
    promise: 'A worker takes the oldest or the newest task of a queue that is stored by priority.',
    file: 'src/store/scripts/chosen-heads.ts',
    find: 'SELECT lane, rank FROM stretch WHERE rank IS NOT NULL`',
    replace: 'SELECT lane, rank FROM stretch WHERE rank IS NOT NULL LIMIT 1`',
    test: { file: SQLITE, title: 'a worker takes fifo from a queue that is stored as priority' },
  },
  {
    name: 'ageing is a step',
    promise: 'A task of low priority that has waited long enough goes first.',
    file: 'src/model/rank.ts',
    find: 'return priority * (ageingMs ?? PRIORITY_STEP)',
    replace: 'return priority * PRIORITY_STEP',
    test: {
      file: SQLITE,
      title: 'ageing: who waits one step longer goes before a higher priority, and not a millisecond earlier',
    },
  },
  {
    name: 'a race is won by weight',
    promise: 'The chance to be next is proportional to 1 / priority.',
    file: 'src/model/rank.ts',
    find: '-Math.log(1 - random()) * priority * RACE_UNIT',
    replace: 'random() * priority * RACE_UNIT',
    test: { file: DRAWS, title: '100 000 draws from all that wait come as 1 / priority says' },
  },
  {
    name: 'a race of another era is over',
    promise: 'What was started under a former order does not put late comers behind everybody.',
    file: 'src/model/rank.ts',
    find: 'return isOfGeneration(startedRank, ranking.era) ? startedRank - generationBounds(ranking.era).start : null',
    replace: 'return startedRank - generationBounds(ranking.era).start',
    test: { file: 'test/model/rank.test.ts', title: 'a start in another era does not move a race on' },
  },
  {
    name: 'what is given back keeps its place',
    promise: 'A worker that stops sends nobody to the end of the line.',
    file: 'src/model/outcome.ts',
    find: 'keepsPlace: true',
    replace: 'keepsPlace: false',
    test: { file: SQLITE, title: 'fifo: what is given back, by its worker or for it, keeps its place' },
  },
  {
    name: 'a retry is drawn anew',
    promise: 'A task that keeps failing does not stand in front of everybody.',
    file: 'src/model/outcome.ts',
    find: '    afterMs: retryAfterMs,\n    keepsPlace: false,',
    replace: '    afterMs: retryAfterMs,\n    keepsPlace: retryAfterMs === 0,',
    test: { file: SQLITE, title: 'weighted: a retry without a delay is drawn anew' },
  },
  {
    name: 'ageing belongs to priorities',
    promise: 'A setting that would do nothing is refused.',
    file: 'src/define/queue.ts',
    find: "  if (strategy !== 'priority')\n",
    replace: "  if (strategy === 'weighted')\n",
    test: {
      file: 'test/queue/strategies.test.ts',
      title: 'refuse ageing where nothing ages, and nothing is written',
    },
  },
  {
    name: 'workers re-rank',
    promise: 'What waits stands in the new order, though whoever changed it was killed.',
    file: 'src/engine/background.ts',
    find: '      this.#reranker.start()\n',
    replace: '',
    test: {
      file: 'test/queue/strategies.test.ts',
      title: 'a worker finds by itself what somebody has ranked by an order of former times',
    },
  },
]

const IN_SQLITE: Guard[] = [
  {
    name: 'late comers join the race where it is',
    promise: 'Late comers are treated fairly.',
    file: 'src/store/sqlite/order/queue-cache.ts',
    find: "strategy === 'weighted' ? this.#race(name) : queuedAtMs",
    replace: "strategy === 'weighted' ? 0 : queuedAtMs",
    test: {
      file: DRAWS,
      title: '100 000 draws among late comers, delayed and retried ones come as 1 / priority says',
    },
  },
  {
    name: 'only a start moves a race on',
    promise: 'What a worker holds ahead does not put late comers behind it.',
    file: 'src/store/sqlite/tasks/claim.ts',
    find: 'if (position < start) started.push(entry)\n    else weightedEntries',
    replace: 'started.push(runner)\n    runners',
    test: {
      file: DRAWS,
      title:
        'who is merely held ahead does not move the race on: a late comer has his chance against all that go back',
    },
  },
  {
    name: 'enqueuing knows the order of the moment',
    promise: 'What is enqueued after a change of order stands in its place at once.',
    file: 'src/store/sqlite/tasks/enqueue.ts',
    find: '  queues.knowing(sequence.queuesVersion)\n',
    replace: '  queues.knowing(0)\n',
    test: {
      file: 'test/store/sqlite/ordering.test.ts',
      title: 'what another store enqueues after a change needs no re-ranking',
    },
  },
  {
    name: 'the last is first',
    promise: 'A lifo queue is worked off from its end.',
    file: 'src/store/sqlite/tasks/heads.ts',
    find: "return lastFirst ? 'ORDER BY rank DESC, id DESC'",
    replace: "return lastFirst ? 'ORDER BY rank, id'",
    test: { file: SQLITE, title: 'lifo: the last to become due is first, of each name and of one call' },
  },
  {
    name: 'queues have turns',
    promise: 'A full queue does not starve another.',
    file: 'src/store/sqlite/tasks/next-tasks.ts',
    find: '  if (next.length > 0) memory.turns.served(want.able, next.at(-1)!.queue)\n',
    replace: '',
    test: { file: SQLITE, title: 'one at a time, too, nobody waits behind the many of another queue' },
  },
  {
    name: 'what is of an era before is re-ranked',
    promise: 'A new order holds for what waits.',
    file: 'src/store/sqlite/order/ordering.ts',
    find: "      ['rank < ?', start],\n",
    replace: '',
    test: { file: SQLITE, title: 'a new order holds for what waits, in short steps, while work goes on' },
  },
  {
    name: 'what is of an era behind is re-ranked',
    promise: 'Nobody is left behind everybody else when an order changes.',
    file: 'src/store/sqlite/order/ordering.ts',
    find: "      ['rank >= ?', end],\n",
    replace: '',
    test: { file: SQLITE, title: 'a change back leaves nobody behind' },
  },
  {
    name: 'what is held is re-ranked',
    promise: 'What goes back after several changes of order does not stand at a place of long ago.',
    file: 'src/store/sqlite/order/ordering.ts',
    find: "  'gleaner_held WHERE fence IS NOT NULL',\n",
    replace: '',
    test: { file: SQLITE, title: 'what is held while the order changes goes back into the new one' },
  },
]

const IN_POSTGRES: Guard[] = [
  {
    name: 'postgres: late comers join the race where it is',
    promise: 'Late comers are treated fairly.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: 'ELSE coalesce((SELECT moment FROM races WHERE races.queue = race), 0) END',
    replace: 'ELSE 0 END',
    test: {
      file: 'test/store/postgres/weighted.test.ts',
      title: '5 000 draws, half of them among late comers, come as 1 / priority says',
    },
  },
  {
    name: 'postgres: each session has its own place in a race',
    promise: 'Those who claim from a weighted queue do not wait for each other.',
    file: 'src/store/postgres/order/virtual-times.ts',
    find: '[queue, ranking.era, session, moment]',
    replace: '[queue, ranking.era, 0, moment]',
    test: {
      file: 'test/store/postgres/weighted.test.ts',
      title: 'who claims from a weighted queue waits for nobody else who does',
    },
  },
  {
    name: 'postgres: a race outlives its sessions',
    promise: 'Late comers are treated fairly, also when all workers have left.',
    file: 'src/store/postgres/order/virtual-times.ts',
    find: 'SELECT queue, era, 0, pg_catalog.max(moment) FROM gone GROUP BY queue, era\n',
    replace: 'SELECT queue, era, 0, 0 FROM gone GROUP BY queue, era\n',
    test: {
      file: 'test/store/postgres/weighted.test.ts',
      title: 'how far a race has come outlives those who took part in it',
    },
  },
  {
    name: 'postgres: who drew by an old order sees to it',
    promise: 'What is enqueued by a process that had not heard of a change stands in the new order soon.',
    file: 'src/store/postgres/tasks/enqueue.ts',
    find: '  if (current !== version) queues.outdated()\n',
    replace: '',
    test: {
      file: 'test/store/postgres/ordering.test.ts',
      title: 'who enqueues by an order that has changed re-ranks it himself',
    },
  },
  {
    name: 'postgres: the last is first',
    promise: 'A lifo queue is worked off from its end.',
    file: 'src/store/postgres/tasks/take.ts',
    find: "backwards ? ['-', 'DESC'] : ['', '']",
    replace: "['', '']",
    test: { file: POSTGRES, title: 'lifo: the last to become due is first, of each name and of one call' },
  },
  {
    name: 'postgres: queues have turns',
    promise: 'A full queue does not starve another.',
    file: 'src/store/postgres/tasks/claim.ts',
    find: '  if (last !== undefined) memory.turns.served(want.able, laneOf(last.lane).queue)\n',
    replace: '',
    test: { file: POSTGRES, title: 'one at a time, too, nobody waits behind the many of another queue' },
  },
  {
    name: 'postgres: queues are not one line',
    promise: 'A priority in one queue holds up nobody in another.',
    file: 'src/store/postgres/tasks/take.ts',
    find: 'path.turn.some((turn) => turn !== path.turn[0])',
    replace: 'path.turn.some((turn) => turn < 0)',
    test: {
      file: POSTGRES,
      title: 'a worker takes from its queues in turn, whatever the priorities in each',
    },
  },
  {
    name: 'postgres: what is of an era behind is re-ranked',
    promise: 'Nobody is left behind everybody else when an order changes.',
    file: 'src/store/postgres/order/ordering.ts',
    find: "['rank < l.low', 'rank >= l.high'].map(",
    replace: "['rank < l.low'].map(",
    test: { file: POSTGRES, title: 'a change back leaves nobody behind' },
  },
  {
    name: 'postgres: what is held is re-ranked',
    promise: 'What goes back after several changes of order does not stand at a place of long ago.',
    file: 'src/store/postgres/order/ordering.ts',
    find: 'const RANKED = [READY, SUSPECT, HELD]',
    replace: "const RANKED = [READY, SUSPECT, HELD === '' ? HELD : 'false']",
    test: { file: POSTGRES, title: 'what is held while the order changes goes back into the new one' },
  },
  {
    name: 'postgres: dead rows are kept off from the end',
    promise: 'A transaction held open somewhere does not slow down a lifo queue either.',
    file: 'src/store/postgres/tasks/low-water.ts',
    find: 'for (const gap of way.lastFirst ? this.#gapsOf(way.lane) :',
    replace: 'for (const gap of way.lastFirst ? this.#gapsOf(-1) :',
    test: {
      file: 'test/store/postgres/low-water.test.ts',
      title: 'a claim from the end steps over no more of them',
    },
  },
]

export const STRATEGIES: Guard[] = [...IN_THE_MODEL, ...IN_SQLITE, ...IN_POSTGRES]
