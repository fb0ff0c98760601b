import { type Context, Hono } from 'hono'
import type { Gleaner } from '../engine/gleaner.ts'
import { insideOf } from '../engine/inside.ts'
import type { AlertLimits } from '../model/alerts.ts'
import { Timeline } from '../model/timeline.ts'
import { type ApiPipeline, admitted, answering, answerOrProblem, visitOf } from './answer.ts'
import { Dashboard } from './dashboard.ts'
import { Hub, type HubTimings, type Topic } from './events/hub.ts'
import { openApi } from './openapi.ts'
import { prometheusText } from './prometheus.ts'
import { Access, type AccessOptions } from './protocol/access.ts'
import { allDiscoveries } from './protocol/all-discoveries.ts'
import { Lanes } from './protocol/lanes.ts'
import { Problem } from './protocol/problem.ts'
import { redactor } from './protocol/redact.ts'
import { RequestTurns } from './protocol/turns.ts'
import { version } from './protocol/version.ts'
import { batchRoutes } from './routes/batches.ts'
import { claimRoutes } from './routes/claims.ts'
import { discoveryRoutes } from './routes/discoveries.ts'
import { eventRoutes } from './routes/events.ts'
import { healthReport, healthRoutes } from './routes/health.ts'
import { insightRoutes } from './routes/insight.ts'
import { queueRoutes } from './routes/queues.ts'
import type { Route, RouteServices } from './routes/route.ts'
import { serverRoutes } from './routes/server.ts'
import { sessionRoutes } from './routes/session.ts'
import { taskRoutes } from './routes/tasks.ts'
import { workerRoutes } from './routes/workers.ts'
import type { Discovery } from './wire/types.ts'

/** What `createApi` takes. */
export interface ApiOptions extends AccessOptions {
  /** Fields that the server hides: `['*.password']`. */
  redact?: readonly string[]
  /** The largest body of a request, in bytes. Default 2 MiB. */
  bodyLimit?: number
  /** Whether this process can work, in addition to the database being reachable. `/readyz` calls it. */
  ready?: () => boolean | Promise<boolean>
  /** The thresholds of alerts. Null: never an alert. The defaults are those of the config. */
  alerts?: AlertLimits
  /** False: the API without the dashboard. */
  dashboard?: boolean
  /** How often the stream of events reads the database. */
  timings?: HubTimings
  /** The supervisor reports its workers here. */
  timeline?: Timeline
}

/** A Hono app, to be served alone or mounted in a server of yours. `App`: the type `Hono` of your app, if it has another version. */
export type Api<App = Hono> = App & {
  /** Ends all event streams. */
  close(): void
}

const ALERTS: AlertLimits = { backlog: 10_000, errorRate: 0.1, stalledAfterMs: 60_000 }
const PREFIX = '/api/v1'
const BODY_LIMIT = 2 * 1024 * 1024

export const ROUTES: readonly Route[] = [
  ...sessionRoutes,
  ...serverRoutes,
  ...taskRoutes,
  ...batchRoutes,
  ...queueRoutes,
  ...discoveryRoutes,
  ...workerRoutes,
  ...claimRoutes,
  ...healthRoutes,
  ...insightRoutes,
  ...eventRoutes,
]

/**
 * Everything Gleaner knows and can do, over HTTP. If your app has another version of Hono, name its type:
 * `app.route('/ops', createApi<Hono>(gleaner, options))`. Every version of Hono 4 can mount it.
 */
export function createApi<App = Hono>(gleaner: Gleaner, options: ApiOptions = {}): Api<App> {
  const closing = new AbortController()
  const office = officeOf(gleaner, options, closing.signal)
  const { hub } = office.desk
  const app = new Hono({ strict: true })
  addRoutes(app, office)
  addProbes(app, office, options)
  const nothing = (c: Context) => answerOrProblem(office, () => Promise.reject(notFound(c)))
  app.all(`${PREFIX}/*`, nothing)
  if (options.dashboard !== false) addDashboard(app, office, nothing)
  app.notFound(nothing)
  const close = () => {
    closing.abort()
    hub.close()
  }
  // The types of two versions of Hono differ in their private parts, which mounting does not use.
  return Object.assign(app, { close: () => close() }) as unknown as Api<App>
}

function officeOf(gleaner: Gleaner, options: ApiOptions, closing: AbortSignal): ApiPipeline {
  const inside = insideOf(gleaner)
  const redact = redactor(options.redact ?? [])
  const { alerts = ALERTS } = options
  const hub = new Hub({
    store: inside.store,
    redact,
    timings: options.timings,
    topics: topicsOf({ gleaner, inside, alerts }),
  })
  const desk: RouteServices = {
    gleaner,
    inside,
    access: new Access(options, inside.onProblem),
    hides: (options.redact ?? []).length > 0,
    hub,
    startedAt: Date.now(),
    alerts,
    lanes: new Lanes(options.timeline ?? new Timeline(), inside.store.sessions),
    closing,
  }
  return {
    desk,
    redact,
    turns: new RequestTurns(),
    bodyLimit: options.bodyLimit ?? BODY_LIMIT,
    onProblem: inside.onProblem,
  }
}

function topicsOf(desk: Pick<RouteServices, 'gleaner' | 'inside' | 'alerts'>): Record<string, Topic> {
  const { gleaner, inside } = desk
  return {
    counts: {
      read: async () => ({
        counts: await gleaner.tasks.counts(),
        queues: await gleaner.queues.list(),
        paused: await inside.store.admin.everythingIsPaused(),
      }),
    },
    workers: { read: async () => ({ workers: await gleaner.workers.list() }), everyMs: 500 },
    discoveries: {
      read: async () => ({ discoveries: (await allDiscoveries(gleaner)).map(withoutTime) }),
      everyMs: 1_000,
      isSlow: true,
    },
    health: { read: () => healthReport(desk), everyMs: 1_000, isSlow: true },
  }
}

/** The time alone is no news. */
function withoutTime({ asOf: _, ...discovery }: Discovery): Omit<Discovery, 'asOf'> {
  return discovery
}

function addRoutes(app: Hono, office: ApiPipeline): void {
  const description = openApi(ROUTES, PREFIX, version)
  const all: Route[] = [
    ...ROUTES,
    {
      method: 'get',
      path: '/openapi.json',
      role: 'viewer',
      summary: '',
      answer: null,
      handle: () => Response.json(description),
    },
  ]
  for (const route of all)
    app.on(route.method.toUpperCase(), `${PREFIX}${route.path}`, answering(route, office))
  for (const [path, routes] of Map.groupBy(all, ({ path }) => path)) {
    const allow = routes.map(({ method }) => method.toUpperCase()).join(', ')
    app.all(`${PREFIX}${path}`, () => answerOrProblem(office, () => Promise.reject(otherMethod(allow))))
  }
}

/** The files are no secret; what they show comes from the API, which asks who wants to know. */
function addDashboard(app: Hono, office: ApiPipeline, nothing: (c: Context) => Promise<Response>): void {
  const dashboard = new Dashboard()
  app.get('*', async (c) => {
    // Where we are mounted is what stands before the star. `c.req` is of the copy of Hono that the app around us has.
    const below = c.req.path.slice(c.req.routePath.replace(/\/?\*$/, '').length) || '/'
    return answerOrProblem(office, async () => {
      office.desk.access.checkHost(visitOf(c))
      const slash = below === '/' ? withSlash(c) : null
      if (slash !== null) return c.redirect(slash)
      return (await dashboard.answer(below, c.req.raw)) ?? nothing(c)
    })
  })
}

/** The page names its files relative to itself, so that its address must end with a slash. Null: it does. */
function withSlash(c: Context): string | null {
  // Servers around us take away what stands before our paths; what the browser sees is what it sent.
  const { originalUrl, url }: { originalUrl?: string; url?: string } = c.env?.incoming ?? {}
  const { pathname, search } = new URL(originalUrl ?? url ?? c.req.url, 'http://localhost')
  return pathname.endsWith('/') ? null : `./${pathname.split('/').at(-1)}/${search}`
}

/** What machines ask. Whether we live is no secret; how much there is to do is for whoever may look. */
function addProbes(app: Hono, office: ApiPipeline, { ready }: ApiOptions): void {
  const { gleaner, inside, hub } = office.desk
  const text = (body: string, status = 200) =>
    new Response(body, { status, headers: { 'content-type': TEXT } })
  // It is open to all: many requests at once must not read the database many times.
  let asked: Promise<boolean> | undefined
  const answers = () => {
    asked ??= gleaner.queues
      .list()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        asked = undefined
      })
    return asked
  }
  app.get('/healthz', (c) =>
    answerOrProblem(office, async () => {
      office.desk.access.checkHost(visitOf(c))
      return text('ok\n')
    }),
  )
  app.get('/readyz', (c) =>
    answerOrProblem(office, async () => {
      office.desk.access.checkHost(visitOf(c))
      if (!(await answers())) return text('the database does not answer\n', 503)
      return (await ready?.()) === false ? text('not ready\n', 503) : text('ok\n')
    }),
  )
  app.get('/metrics', (c) =>
    answerOrProblem(office, async () => {
      await admitted(office, { method: 'get', role: 'viewer' }, visitOf(c))
      const body = await office.turns.take(() => prometheusText(gleaner, inside.store, hub))
      return new Response(body, { headers: { 'content-type': `${TEXT}; version=0.0.4` } })
    }),
  )
}

const TEXT = 'text/plain; charset=utf-8'

function notFound(c: Context): Problem {
  return new Problem(
    'NOT_FOUND',
    `there is no ${c.req.method} ${c.req.path.slice(0, 200)}`,
    `See ${PREFIX}/openapi.json.`,
  )
}

function otherMethod(allow: string): Problem {
  return new Problem('METHOD_NOT_ALLOWED', `this takes ${allow}`, null, { headers: { allow } })
}
