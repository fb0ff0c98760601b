// The part of vitest that the tests of `src/model` use, without its processes: thousands of runs take a minute this way.
import { expect } from '../../node_modules/vitest/dist/index.js'

export { expect }

export interface Test {
  title: string
  /** The groups that it is in, from outside. */
  groups: readonly string[]
  run: () => unknown
}

/** Of the file that is being loaded. */
export const tests: Test[] = []
const groups: string[] = []

type Body = (...values: any[]) => unknown

function one(title: string, second: Body | object, third?: Body): void {
  tests.push({ title, groups: [...groups], run: (typeof second === 'function' ? second : third!) as Body })
}

function each(values: readonly unknown[]) {
  return (title: string, second: Body | object, third?: Body) => {
    const body = (typeof second === 'function' ? second : third!) as Body
    for (const value of values) one(title, () => (Array.isArray(value) ? body(...value) : body(value)))
  }
}

export const test = Object.assign(one, {
  each,
  for: (values: readonly unknown[]) => (title: string, body: Body) => {
    for (const value of values) one(title, () => body(value))
  },
})

function group(title: string, define: () => void): void {
  groups.push(title)
  define()
  groups.pop()
}

export function onTestFinished(clear: () => unknown): void {
  clearing.push(clear)
}

/** What the test that runs has asked for. */
export const clearing: (() => unknown)[] = []

export const describe = Object.assign(group, {
  each: (values: readonly unknown[]) => (_title: string, define: Body) => {
    for (const value of values) Array.isArray(value) ? define(...value) : define(value)
  },
})
