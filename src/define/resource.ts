import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { checkName, shown } from './names.ts'

declare const value: unique symbol

/** Something heavy that a handler needs, such as a model or a GPU. `T` is what `load` returns. Handlers find it in `ctx.use`. */
export interface Resource<T = any> {
  /** The name that `defineResource` got. */
  readonly name: string
  readonly [value]?: T
}

/** Resources of a task or a discovery, by the name that `ctx.use` gives them. */
export type Resources = Record<string, Resource>
/** The loaded resources, as `ctx.use` has them. */
export type Used<U> = { readonly [K in keyof U]: U[K] extends Resource<infer T> ? T : never }

/** Why a resource is unavailable, and how long to wait before the next probe. */
export interface Unavailable {
  /** When to ask again. */
  retryAfter?: Duration
  /** Why, for `explain` and the logs. */
  reason: string
}

/** What `defineResource` takes. */
export interface ResourceOptions<T> {
  /** Names the resource in logs, in `explain` and in the dashboard. */
  name: string
  /** Returns whether the resource can be loaded now. While it is not loaded, a worker calls this before it claims an item that needs it. */
  probe?: () => boolean | Unavailable | Promise<boolean | Unavailable>
  /** Loads the resource: once per process, before the first run that needs it. */
  load: () => Promise<T> | T
  /** Frees the resource: when it is idle, and when the worker stops. */
  unload?: (resource: NoInfer<T>) => void | Promise<void>
  /** Unloads the resource when no run has used it for this long. Default: when the last worker that may need it has stopped. */
  idleAfter?: Duration
  /** How long to wait after the resource was unavailable or failed to load. Default 30 s. */
  retryAfter?: Duration
  /** How long a successful probe stays valid. Default 5 s. */
  probeEvery?: Duration
  /** How long `probe` may take. Default 10 s. */
  probeTimeout?: Duration
  /** How long `load` may take. Default 10 min. */
  loadTimeout?: Duration
  /** How long `unload` may take. Default 30 s. */
  unloadTimeout?: Duration
}

/** What the engine sees of a resource. */
export interface ResourceDefinition {
  readonly name: string
  readonly probe: (() => unknown) | undefined
  readonly load: () => unknown
  readonly unload: ((resource: unknown) => unknown) | undefined
  readonly idleAfterMs: number | null
  readonly retryAfterMs: number
  readonly probeEveryMs: number
  readonly probeTimeoutMs: number
  readonly loadTimeoutMs: number
  readonly unloadTimeoutMs: number
}

/** What a handler's code calls its resources. */
export type Uses = ReadonlyMap<string, ResourceDefinition>

/** Shared by all copies of this package in a program, so that each recognises the other's definitions. */
const BRAND = Symbol.for('gleaner.resource')

const OPTIONS = declareOptions<ResourceOptions<unknown>>('defineResource', {
  name: true,
  probe: true,
  load: true,
  unload: true,
  idleAfter: true,
  retryAfter: true,
  probeEvery: true,
  probeTimeout: true,
  loadTimeout: true,
  unloadTimeout: true,
})

/** Declares something heavy that handlers use, such as a model or a connection. A process loads it once, when it is first needed. */
export function defineResource<T>(options: ResourceOptions<T>): Resource<T> {
  const name = checkName(options?.name, 'defineResource: name', 'BAD_DEFINITION')
  const what = `resource ${name}`
  refuseUnknown(options, OPTIONS, what, 'BAD_DEFINITION')
  if (typeof options.load !== 'function') throw bad(`${what}: load`, options.load, 'Pass a function.')
  const ms = (option: keyof ResourceOptions<T>, otherwise: Duration) =>
    durationMs(options[option] ?? otherwise, `${what}: ${option}`)
  const definition: ResourceDefinition = {
    name,
    probe: optional(options.probe, `${what}: probe`),
    load: options.load,
    unload: optional(options.unload, `${what}: unload`) as ResourceDefinition['unload'],
    idleAfterMs: options.idleAfter === undefined ? null : ms('idleAfter', 0),
    retryAfterMs: ms('retryAfter', '30s'),
    probeEveryMs: ms('probeEvery', '5s'),
    probeTimeoutMs: ms('probeTimeout', '10s'),
    loadTimeoutMs: ms('loadTimeout', '10m'),
    unloadTimeoutMs: ms('unloadTimeout', '30s'),
  }
  return Object.freeze({ name, [BRAND]: Object.freeze(definition) })
}

/** Null when nothing is used: most handlers need nothing. */
export function checkUses(uses: unknown, what: string): Uses | null {
  if (uses === undefined) return null
  if (typeof uses !== 'object' || uses === null || Array.isArray(uses)) {
    throw bad(`${what}: uses`, uses, 'Use an object of resources, e.g. { model }.')
  }
  const entries = Object.entries(uses).map(
    ([key, resource]) => [key, definitionOf(resource, what, key)] as const,
  )
  return entries.length === 0 ? null : new Map(entries)
}

/** A name stands for one resource: it is what explanations and health frames say. */
export function checkDistinct(all: Iterable<Uses | null>): void {
  const known = new Map<string, ResourceDefinition>()
  for (const uses of all) {
    for (const definition of uses?.values() ?? []) {
      const other = known.get(definition.name) ?? definition
      if (other !== definition) {
        throw new InputError(`two different resources have the name ${definition.name}`, {
          code: 'BAD_DEFINITION',
          hint: 'Call defineResource once for each name, and share the object that it returns.',
        })
      }
      known.set(definition.name, definition)
    }
  }
}

function definitionOf(resource: unknown, what: string, key: string): ResourceDefinition {
  const definition = (resource as { [BRAND]?: ResourceDefinition } | null | undefined)?.[BRAND]
  if (definition !== undefined) return definition
  throw bad(`${what}: uses.${key}`, resource, 'Pass the object that defineResource returned.')
}

function optional(fn: (() => unknown) | ((resource: never) => unknown) | undefined, what: string) {
  if (fn === undefined || typeof fn === 'function') return fn as (() => unknown) | undefined
  throw bad(what, fn, 'Pass a function.')
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_DEFINITION', hint })
}
