import fc from 'fast-check'

/** Values that are unpleasant to read. Each is made anew: a promise, or a proxy, is changed by who touches it. */
export type Hostile = () => unknown

const refuse = () => {
  throw new Error('a getter threw')
}
const TRAPS: ProxyHandler<object> = {
  get: refuse,
  has: refuse,
  ownKeys: refuse,
  getPrototypeOf: refuse,
  getOwnPropertyDescriptor: refuse,
}

export const PLAIN: Record<string, Hostile> = {
  undefined: () => undefined,
  null: () => null,
  NaN: () => Number.NaN,
  'a symbol': () => Symbol('thrown'),
  'a BigInt': () => 12_345_678_901_234_567_890n,
  'a function': () => () => {},
  'a text with a NUL': () => 'before\0after',
  'a lone surrogate': () => 'half \ud83d',
  'a huge text': () => 'x'.repeat(1_200_000),
  'an object without a prototype': () => Object.create(null),
  'an object that no text can be made of': () => ({ toString: refuse, valueOf: refuse, toJSON: refuse }),
  'an object of a thousand properties': () =>
    Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [n, n])),
  'a Map': () => new Map([['a', 1]]),
  'a Date': () => new Date(0),
  'a circle': () => {
    const circle: Record<string, unknown> = {}
    return Object.assign(circle, { here: circle, there: circle })
  },
  'a graph with 2^60 paths': () => {
    let node: object = {}
    for (let n = 0; n < 60; n++) node = { left: node, right: node }
    return node
  },
  'a proxy that refuses': () => new Proxy({}, TRAPS),
  'a proxy of an error that refuses': () => new Proxy(new Error('inside'), TRAPS),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'a proxy whose prototypes never end': () => {
    const endless: object = new Proxy({}, { getPrototypeOf: () => endless })
    return endless
  },
  'an error with a huge message': () => new Error('y'.repeat(1_200_000)),
  'an error with a huge name': () => Object.assign(new Error('z'), { name: 'n'.repeat(100_000) }),
  'an error whose stack is no text': () => Object.assign(new Error('stack'), { stack: { lines: 3 } }),
  'an error without a prototype': () => Object.setPrototypeOf(new Error('bare'), null),
  'a function with an odd name': () => Object.defineProperty(() => {}, 'name', { get: refuse }),
}

/** What was found hostile is worse as a part of something else. */
const WRAPPED: Record<string, (inner: unknown) => unknown> = {
  'an error caused by': (cause) => new Error('outside', { cause }),
  'errors among them': (inner) => new AggregateError([inner, new Error('other'), inner, inner, inner]),
  'a getter that throws': (inner) =>
    Object.defineProperties(new Error('getter'), {
      message: { get: () => thrown(inner) },
      stack: { get: () => thrown(inner) },
      name: { get: () => thrown(inner) },
      code: { get: () => thrown(inner) },
      cause: { get: () => thrown(inner) },
    }),
  'an error with the message': (message) =>
    Object.assign(new Error(), { message, name: message, code: message }),
  'an error of the driver with the code': (code) =>
    Object.assign(new Error('driver'), { code, cause: { code } }),
  'a cycle of causes with': (inner) => {
    const error = new Error('again', { cause: inner })
    return Object.assign(error, { cause: new Error('and again', { cause: error }) })
  },
  'a then that throws': (inner) => Object.defineProperty({}, 'then', { get: () => thrown(inner) }),
  'a then that rejects with': (inner) =>
    Object.defineProperty({}, 'then', {
      value: (_: unknown, reject: (error: unknown) => void) => reject(inner),
    }),
  'a toJSON that throws': (inner) => ({ toJSON: () => thrown(inner) }),
  'a property': (inner) => ({ inner }),
}

function thrown(value: unknown): never {
  throw value
}

/** With a name, so that a run that fails says what it was. */
export interface NamedHostile {
  name: string
  make: Hostile
}

const plain = fc.constantFrom(...Object.entries(PLAIN)).map(([name, make]) => ({ name, make }))

const wrapped = fc
  .tuple(fc.constantFrom(...Object.entries(WRAPPED)), plain)
  .map(([[name, wrap], inner]) => ({ name: `${name} ${inner.name}`, make: () => wrap(inner.make()) }))

/** Each as it is, and some as parts of others. */
export const hostileValues: fc.Arbitrary<NamedHostile[]> = fc
  .array(wrapped, { minLength: 10, maxLength: 10 })
  .map((some) => [...Object.entries(PLAIN).map(([name, make]) => ({ name, make })), ...some])
