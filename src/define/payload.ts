import { types } from 'node:util'
import { type ErrorCode, InputError } from '../errors.ts'
import { messageOf } from '../thrown.ts'

export const PAYLOAD_MAX_BYTES = 1_048_576

/** Deeper than this JSON.stringify decides; it also names cycles. */
const DEPTH_MAX = 100

/** A value as JSON, or null for none. Refused: what JSON cannot hold, or would silently drop. */
export function encodePayload(
  value: unknown,
  what: string,
  maxBytes: number,
  tooLarge: ErrorCode,
): string | null {
  if (value === undefined) return null
  valuesLeft = maxBytes
  changesIt = false
  const flaw = unstorable(value, 0)
  if (flaw !== undefined) throw notJson(what, `${[what, ...flaw.path].join('.')} is ${flaw.reason}`)
  if (valuesLeft < 0) throw tooMany(what, maxBytes, tooLarge)
  const text = encode(value, what)
  // A character takes three bytes at most, so that short texts need no counting.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) {
    throw new InputError(`${what} is ${Buffer.byteLength(text)} bytes of JSON; the limit is ${maxBytes}`, {
      code: tooLarge,
      hint: 'Store large data elsewhere and pass a reference (a path, a key), or raise `payloadLimit`.',
    })
  }
  return text
}

/** The same, and whether what is read back may differ in kind from what was given: a date is text then. */
export function encodeInput(
  value: unknown,
  what: string,
  maxBytes: number,
): { text: string | null; isChanged: boolean } {
  changesIt = false
  const text = encodePayload(value, what, maxBytes, 'TOO_LARGE')
  return { text, isChanged: changesIt }
}

function encode(value: unknown, what: string): string {
  try {
    const text: string | undefined = JSON.stringify(value)
    if (text !== undefined) return text
  } catch (cause) {
    throw notJson(what, messageOf(cause).split('\n')[0] ?? '', cause)
  }
  throw notJson(what, 'its toJSON() returns nothing')
}

/**
 * Each value takes a byte of JSON or more. Without an end to them, an object that stands in many places of a small graph
 * (a node with its parent and its root) would be looked at more often than any computer can.
 */
let valuesLeft = 0
/** JSON turns something in the value that was looked at last into something else: a date, an instance of a class. */
let changesIt = false

interface Flaw {
  path: string[]
  reason: string
}

/** JSON.stringify throws for BigInt and cycles, but drops functions and symbols, and NaN, without a word. */
function unstorable(value: unknown, depth: number): Flaw | undefined {
  switch (typeof value) {
    case 'function':
    case 'symbol':
      return { path: [], reason: `a ${typeof value}` }
    case 'bigint':
      return { path: [], reason: `a BigInt (${value}n)` }
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : { path: [], reason: `${value}, which JSON would turn into null` }
    case 'object': {
      if (--valuesLeft < 0 || value === null || depth > DEPTH_MAX) return
      if (hasToJson(value)) return flawOfWriter(value)
      const isArray = Array.isArray(value)
      const isPlain = isArray || hasPlainPrototype(value)
      if (!isPlain) changesIt = true
      let isEmpty = true
      for (const name in value) {
        isEmpty = false
        const one = (value as Record<string, unknown>)[name]
        if (isArray && one === undefined) changesIt = true
        const flaw = unstorable(one, depth + 1)
        if (flaw !== undefined) return { path: [name, ...flaw.path], reason: flaw.reason }
      }
      if (isEmpty && !isPlain && !types.isBoxedPrimitive(value) && !types.isTypedArray(value))
        return { path: [], reason: `${kindOf(value)}, which JSON would turn into {}` }
    }
  }
}

/** It says itself what it is as JSON. */
function flawOfWriter(value: object): Flaw | undefined {
  changesIt = true
  if (types.isDate(value) && Number.isNaN(value.getTime()))
    return { path: [], reason: 'an invalid Date, which JSON would turn into null' }
  return undefined
}

/** Also that of another realm, such as a vm's. */
function hasPlainPrototype(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

function kindOf(value: object): string {
  const name = /\w+/.exec(String(value.constructor?.name ?? ''))?.[0] ?? 'object of a class'
  return `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${name}`
}

function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

function tooMany(what: string, maxBytes: number, code: ErrorCode): InputError {
  return new InputError(`${what} holds more than ${maxBytes} values, or an object that holds itself`, {
    code,
    hint: 'Pass plain data: a tree of it, without references back, and a reference (a path, a key) to what is large.',
  })
}

function notJson(what: string, reason: string, cause?: unknown): InputError {
  return new InputError(`${what} cannot be stored as JSON: ${reason}`, {
    code: 'NOT_JSON',
    hint: 'Pass plain data: objects, arrays, strings, finite numbers, booleans, null, dates.',
    cause,
  })
}
