import type { Guard } from './guard.ts'

/** What a request must not do to the server. */
export const BOUNDS: readonly Guard[] = [
  {
    name: 'bounds: connections that wait for a request make room for others',
    promise: 'Clients that hold connections lock out nobody.',
    file: 'src/http/connections.ts',
    find: 'if (longest !== socket) longest?.destroy()',
    replace: '',
    test: {
      file: 'test/http/half-sent.test.ts',
      title: 'clients that hold 2 050 connections with the half of a head lock out nobody',
    },
  },
  {
    name: 'bounds: the digits of an integer',
    promise: 'A number does not hold up the server.',
    file: 'src/exact-json.ts',
    find: '  if (source.length > DIGITS_MAX) return value\n',
    replace: '',
    test: {
      file: 'test/exact-json.test.ts',
      title: 'an integer of a million digits is read at once, and is too large for a number',
    },
  },
  {
    name: 'bounds: a cursor that is none of the listing is refused',
    promise: 'No answer holds words of the database.',
    file: 'src/store/scripts/rows/records.ts',
    find: '  if (place !== null && !(yield* isPlaceOf(known, state, place))) throw badCursor()\n',
    replace: '',
    test: {
      file: 'test/http/odd-keys.test.ts',
      title:
        'on SQLite > odd keys and cursors are refused or find nothing, and no answer holds words of the database',
    },
  },
  {
    name: 'bounds: an address with dots is refused',
    promise: 'An address that a client resolved never releases all rows instead of one.',
    file: 'src/http/serve.ts',
    find: "    if (DOTS.test(request.url ?? '')) return refuse(response)\n",
    replace: '',
    test: {
      file: 'test/http/discoveries.test.ts',
      title: 'a row whose key is two dots is released alone, and no address releases all instead',
    },
  },
  {
    name: 'bounds: a page has a sum of bytes',
    promise: 'A page of a list has a bounded size, whatever its tasks carry.',
    file: 'src/store/page-bytes.ts',
    find: 'return isFirst || this.#bytes <= PAGE_BYTES_MAX',
    replace: 'return isFirst || this.#bytes > 0',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'listing > a page of tasks ends before it has more than 1 MiB, and the next one goes on there',
    },
  },
  {
    name: 'bounds: a list does not carry large inputs',
    promise: 'A page of a list has a bounded size, whatever its tasks carry.',
    file: 'src/store/scripts/task-list.ts',
    find: 'bytes !== null && bytes > LISTED_BYTES_MAX ? shortened(bytes) : value',
    replace: 'bytes === -1 ? shortened(bytes) : value',
    test: {
      file: 'test/store/sqlite.conformance.test.ts',
      title: 'listing > a list says of a large input or result only how large it is, and a task has it all',
    },
  },
]
