import type { Guard } from './guard.ts'

/** Closed by default. */
export const ACCESS: readonly Guard[] = [
  {
    name: 'http: the role is checked',
    promise: 'A viewer changes nothing.',
    file: 'src/http/answer.ts',
    find: '  if (role !== null) checkRole(caller, role)\n',
    replace: '',
    test: {
      file: 'test/http/access.test.ts',
      title: 'with tokens: operators everywhere, viewers where nothing changes, others nowhere',
    },
  },
  {
    name: 'http: being local is no right',
    promise: 'A request without a token is refused, unless `local` was said.',
    file: 'src/http/protocol/access.ts',
    find: 'this.#local && isLocal(visit)',
    replace: 'isLocal(visit)',
    test: {
      file: 'test/http/closed.test.ts',
      title: 'a mounted app refuses every request until it is told who may call it',
    },
  },
  {
    name: 'http: what was passed on is not local',
    promise: 'Any forwarded header means not local.',
    file: 'src/http/protocol/access.ts',
    find: ' && ![...request.headers.keys()].some(isForwarded)',
    replace: '',
    test: {
      file: 'test/http/access.test.ts',
      title: "with `local` a request from this machine is an operator's, unless a proxy forwarded it",
    },
  },
  {
    name: 'http: the Host is checked',
    promise: 'A page of another site cannot reach a local server by DNS rebinding.',
    file: 'src/http/answer.ts',
    find: '): Promise<Caller> {\n  access.checkHost(visit)\n',
    replace: '): Promise<Caller> {\n',
    test: {
      file: 'test/http/access.test.ts',
      title: 'a page of another site, which calls itself a name of ours, is refused',
    },
  },
  {
    name: 'http: a change comes from here',
    promise: 'A page of another site changes nothing.',
    file: 'src/http/answer.ts',
    find: "  if (method !== 'get') checkSite(visit)\n",
    replace: '',
    test: {
      file: 'test/http/access.test.ts',
      title: 'a change is made by a page of this server or by a program, never by a page of another site',
    },
  },
  {
    name: 'http: a limited caller is limited',
    promise: 'A token for some queues changes nothing outside of them.',
    file: 'src/http/answer.ts',
    find: '      refuseUnaskedQuery(route, visit)\n      await checkScope(office, route, asked)\n',
    replace: '      refuseUnaskedQuery(route, visit)\n',
    test: {
      file: 'test/http/closed.test.ts',
      title: 'a token for some queues changes nothing outside of them',
    },
  },
  {
    name: 'http: other machines need a token',
    promise: 'Another address is refused without a token.',
    file: 'src/http/serve.ts',
    find: '  refuseOpenDoor(host, rest)\n',
    replace: '',
    test: {
      file: 'test/http/access.test.ts',
      title: 'other machines are served only by whoever has a token',
    },
  },
  {
    name: 'http: answers are redacted',
    promise: 'What is redacted never leaves.',
    file: 'src/http/answer.ts',
    find: 'writeExactly(redact(value, about))',
    replace: 'writeExactly(value ?? redact(about))',
    test: {
      file: 'test/http/redact.test.ts',
      title: 'what is redacted never leaves: not in records, logs, errors, actions or events',
    },
  },
  {
    name: 'http: bodies are bounded',
    promise: 'A request takes a bounded amount of memory.',
    file: 'src/http/protocol/request.ts',
    find: '    if (size > maxBytes) throw tooLarge(maxBytes)\n',
    replace: '',
    test: { file: 'test/http/tasks.test.ts', title: 'a body whose length nobody said is cut off, too' },
  },
  {
    name: 'http: a session needs its key',
    promise: 'A server on another port of the host, which receives the cookie, cannot use it.',
    file: 'src/http/protocol/tokens.ts',
    find: '[cookie, key].join',
    replace: '[cookie].join',
    test: {
      file: 'test/http/closed.test.ts',
      title: 'the cookie alone opens nothing: browsers send it to every port of the host',
    },
  },
  {
    name: 'http: no number is changed on the way in',
    promise: 'Big integers are exact.',
    file: 'src/http/protocol/json.ts',
    find: 'if (changed !== undefined) throw unholdable(changed)',
    replace: '',
    test: {
      file: 'test/http/tasks.test.ts',
      title: 'no number is changed on the way in: what JavaScript cannot hold is refused',
    },
  },
  {
    name: 'claims: only what a token names',
    promise: 'A worker pulls only from the queues and discoveries of its token.',
    file: 'src/http/routes/claims.ts',
    find: 'if (may === null || may.includes(one)) return',
    replace: 'if (one !== undefined) return',
    test: {
      file: 'test/http/claims.test.ts',
      title: 'a worker may claim only what its token names, and nothing else',
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
    name: 'postgres: our own statements ignore the search_path of the role',
    promise: 'A function that another role created is never called.',
    file: 'src/store/postgres/server/settings.ts',
    find: '    ...(runsUserSql ? [] : [OWN_PATH]),\n',
    replace: '',
    test: {
      file: 'test/store/postgres/search-path.test.ts',
      title: 'functions and operators that others created in a schema of the search_path are never called',
    },
  },
  {
    name: 'cli: what strangers wrote is escaped',
    promise: 'A name, a payload or an error cannot command the terminal of whoever looks at it.',
    file: 'src/cli/console/terminal.ts',
    find: 'shown: (line) => escaped(line).replaceAll',
    replace: 'shown: (line) => line.replaceAll',
    test: { file: 'test/cli/terminal.test.ts', title: 'what strangers wrote commands no terminal, with {}' },
  },
  {
    name: 'states: misspelled options',
    promise: 'An option that does not exist is refused, not ignored.',
    file: 'src/options.ts',
    find: 'if (unknown === undefined) return\n',
    replace: 'return\n',
    test: {
      file: 'test/define/options.test.ts',
      title: 'a misspelled option of defineTask is refused, and the right one is named',
    },
  },
]
