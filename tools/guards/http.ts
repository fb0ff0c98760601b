import type { Guard } from './guard.ts'

const ACCESS = 'test/http/access.test.ts'
const EVENTS = 'test/http/events.test.ts'
const TASKS = 'test/http/tasks.test.ts'
const REDACT = 'test/http/redact.test.ts'
const ROLES = 'with tokens: operators everywhere, viewers where nothing changes, others nowhere'
const SITE = 'a change is made by a page of this server or by a program, never by a page of another site'
const LOCAL = "with `local` a request from this machine is an operator's, unless a proxy forwarded it"
const CLOSED = 'test/http/closed.test.ts'

/** What keeps the HTTP API shut, exact, bounded and on record. */
export const HTTP: readonly Guard[] = [
  {
    name: 'http: wrong sign-ins take no turns',
    promise: 'Guessing tokens does not hold up callers with a right one.',
    file: 'src/http/answer.ts',
    find: 'role === null || waits ? work() : turns.take(work)',
    replace: 'turns.take(work)',
    test: { file: CLOSED, title: 'wrong sign-ins wait without holding up callers with a right token' },
  },
  {
    name: 'http: a key of another queue',
    promise: 'A token for some queues replaces no task of another one.',
    file: 'src/http/routes/tasks.ts',
    find: '  for (const key of keys) if (key !== undefined) queues.push(...(await queuesOfWaiting(desk, name, key)))\n',
    replace: '',
    test: {
      file: CLOSED,
      title: 'a token for some queues changes no waiting task of another queue by its key: {"debounce":"5h"}',
    },
  },
  {
    name: 'http: the role is checked',
    promise: 'A viewer changes nothing.',
    file: 'src/http/answer.ts',
    find: '  if (role !== null) checkRole(caller, role)\n',
    replace: '',
    test: { file: ACCESS, title: ROLES },
  },
  {
    name: 'http: being local is no right',
    promise: 'A request without a token is refused, unless `local` was said.',
    file: 'src/http/access.ts',
    find: 'this.#local && isLocal(visit)',
    replace: 'isLocal(visit)',
    test: { file: CLOSED, title: 'a mounted app refuses every request until it is told who may call it' },
  },
  {
    name: 'http: what was passed on is not local',
    promise: 'Any forwarded header means not local.',
    file: 'src/http/access.ts',
    find: ' && ![...request.headers.keys()].some(isForwarded)',
    replace: '',
    test: { file: ACCESS, title: LOCAL },
  },
  {
    name: 'http: the Host is checked',
    promise: 'A page of another site cannot reach a local server by DNS rebinding.',
    file: 'src/http/answer.ts',
    find: '  access.checkHost(visit)\n',
    replace: '',
    test: { file: ACCESS, title: 'a page of another site, which calls itself a name of ours, is refused' },
  },
  {
    name: 'http: a change comes from here',
    promise: 'A page of another site changes nothing.',
    file: 'src/http/answer.ts',
    find: "  if (method !== 'get') checkSite(visit)\n",
    replace: '',
    test: { file: ACCESS, title: SITE },
  },
  {
    name: 'http: a limited caller is limited',
    promise: 'A token for some queues changes nothing outside of them.',
    file: 'src/http/answer.ts',
    find: '      await checkScope(office, route, asked)\n',
    replace: '',
    test: { file: CLOSED, title: 'a token for some queues changes nothing outside of them' },
  },
  {
    name: 'http: other machines need a token',
    promise: 'Another address is refused without a token.',
    file: 'src/http/serve.ts',
    find: '  refuseOpenDoor(host, rest)\n',
    replace: '',
    test: { file: ACCESS, title: 'other machines are served only by whoever has a token' },
  },
  {
    name: 'http: answers carry the headers that bind browsers',
    promise: 'Strict CSP, nosniff, nothing kept.',
    file: 'src/http/answer.ts',
    find: "if (name !== 'cache-control' || !response.headers.has(name)) response.headers.set(name, value)",
    replace: '',
    test: {
      file: ACCESS,
      title: 'every answer tells browsers to run nothing, frame nothing, guess nothing, keep nothing',
    },
  },
  {
    name: 'http: answers are redacted',
    promise: 'What is redacted never leaves.',
    file: 'src/http/answer.ts',
    find: 'writeExactly(redact(value, about))',
    replace: 'writeExactly(value ?? redact(about))',
    test: {
      file: REDACT,
      title: 'what is redacted never leaves: not in records, logs, errors, actions or events',
    },
  },
  {
    name: 'http: what is noted of an action is redacted',
    promise: 'What is redacted never leaves, nor is it kept in the record of actions.',
    file: 'src/http/answer.ts',
    find: 'details: redact((route.details === undefined ? body : route.details(body)) ?? null)',
    replace: 'details: body ?? redact',
    test: {
      file: REDACT,
      title: 'what is redacted is not kept in the record of actions either',
    },
  },
  {
    name: 'http: actions are noted',
    promise: 'Every action of an operator is on record.',
    file: 'src/http/answer.ts',
    find: '      await noted(office, route, asked)\n',
    replace: '',
    test: {
      file: TASKS,
      title: 'every action of an operator is noted before it is done, with who asked; a dry run is none',
    },
  },
  {
    name: 'sqlite: the record of actions is only added to',
    promise: 'The record of actions is append-only.',
    file: 'src/store/sqlite/migrations/011-actions.ts',
    find: 'BEFORE DELETE ON gleaner_actions',
    replace: 'BEFORE DELETE ON gleaner_actions WHEN false',
    test: {
      file: 'test/store/actions.test.ts',
      title: 'on SQLite nobody changes the record of actions, or takes from it',
    },
  },
  {
    name: 'postgres: the record of actions is only added to',
    promise: 'The record of actions is append-only.',
    file: 'src/store/postgres/migrations/011-actions.ts',
    find: 'UPDATE OR DELETE OR TRUNCATE',
    replace: 'UPDATE OR TRUNCATE',
    test: {
      file: 'test/store/actions.test.ts',
      title: 'on PostgreSQL nobody changes the record of actions, or takes from it',
    },
  },
  {
    name: 'http: no number is changed on the way in',
    promise: 'Big integers are exact.',
    file: 'src/http/json.ts',
    find: 'if (changed !== undefined) throw unholdable(changed)',
    replace: '',
    test: {
      file: TASKS,
      title: 'no number is changed on the way in: what JavaScript cannot hold is refused',
    },
  },
  {
    name: 'http: bodies are bounded',
    promise: 'A request takes a bounded amount of memory.',
    file: 'src/http/request.ts',
    find: '    if (size > maxBytes) throw tooLarge(maxBytes)\n',
    replace: '',
    test: { file: TASKS, title: 'a body whose length nobody said is cut off, too' },
  },
  {
    name: 'http: a topic is told at most four times a second',
    promise: 'Events are coalesced.',
    file: 'src/http/events/lookout.ts',
    find: 'Math.max(0, (this.#wantedMs ?? this.#notBefore) - performance.now())',
    replace: '0',
    test: {
      file: EVENTS,
      title: 'at most four a second are told of a topic, however much happens, and the last state always',
    },
  },
  {
    name: 'http: a gap is said',
    promise: 'Events that were missed are never hidden.',
    file: 'src/http/events/subscription.ts',
    find: "    if (!this.#log.reaches(this.#place)) return text + this.#gap('too-late')\n",
    replace: '',
    test: { file: EVENTS, title: 'is told that there is a gap when too much happened meanwhile' },
  },
  {
    name: 'http: a restarted server says so',
    promise: 'Events that were missed are never hidden.',
    file: 'src/http/events/event-log.ts',
    find: 'epoch === this.#epoch && ',
    replace: '',
    test: {
      file: EVENTS,
      title: 'is told that there is a gap when the server was another one, and then how things are',
    },
  },
  {
    name: 'http: the log of events is bounded by size',
    promise: 'A slow client costs bounded memory.',
    file: 'src/http/events/event-log.ts',
    find: ' || this.#chars > CHARS_MAX',
    replace: '',
    test: { file: EVENTS, title: 'a log of events forgets the oldest by their size' },
  },
  {
    name: 'http: a client that leaves is forgotten',
    promise: 'A dead client costs bounded memory.',
    file: 'src/http/events/routes.ts',
    find: 'cancel: () => client && hub.unsubscribe(client),',
    replace: 'cancel: () => {},',
    test: { file: EVENTS, title: 'a client that leaves, or never reads, leaves nothing behind' },
  },
  {
    name: 'http: who lists workers takes no lock',
    promise: 'Watching slows nobody down.',
    file: 'src/store/sqlite/store.ts',
    find: 'const sessions = await scripts.read(',
    replace: 'const sessions = await scripts.writeCheaply(',
    test: {
      file: 'test/http/turns.test.ts',
      title: 'who only looks waits for nobody who writes: on SQLite everybody else would wait for him',
    },
  },
  {
    name: 'http: nobody looks while nobody listens',
    promise: 'Events cost nothing while nobody wants them.',
    file: 'src/http/events/hub.ts',
    find: '    for (const lookout of this.#lookouts) lookout.stop()\n',
    replace: '',
    test: { file: EVENTS, title: 'nobody looks while nobody listens' },
  },
  {
    name: 'http: a server that closes ends its streams',
    promise: 'Closing waits for no listener.',
    file: 'src/http/serve.ts',
    find: '    api.close()\n',
    replace: '',
    test: { file: EVENTS, title: 'streams end when the server closes, which waits for none of them' },
  },
  {
    name: 'http: a topic that cannot be read silences no other',
    promise: 'Events of one part do not depend on another.',
    file: 'src/http/events/hub.ts',
    find: 'this.#tell(topic, topic, data), refuseClosed)',
    replace: 'this.#tell(topic, topic, data))',
    test: { file: EVENTS, title: 'a topic that cannot be read silences no other' },
  },
  {
    name: 'http: many requests do not hold up the thread',
    promise: 'Serving never holds up the supervisor.',
    file: 'src/http/turns.ts',
    find: 'if (this.#running >= AT_ONCE) await this.#wait()',
    replace: 'if (this.#running < 0) await this.#wait()',
    test: { file: 'test/http/turns.test.ts', title: 'a few are answered at a time, in the order they came' },
  },
  {
    name: 'http: a session needs its key',
    promise: 'A server on another port of the host, which receives the cookie, cannot use it.',
    file: 'src/http/tokens.ts',
    find: '[cookie, key].join',
    replace: '[cookie].join',
    test: {
      file: 'test/http/closed.test.ts',
      title: 'the cookie alone opens nothing: browsers send it to every port of the host',
    },
  },
]
