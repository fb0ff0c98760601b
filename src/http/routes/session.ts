import { z } from 'zod'
import { cookieName } from '../request-origin.ts'
import { type Route, route } from '../route.ts'

const YEAR_S = 31_536_000
const TOKEN_MAX = 1_000

export const sessionRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/session',
    role: null,
    summary: 'Signs a browser in: sets a cookie that scripts cannot read',
    body: z.strictObject({ token: z.string().min(1).max(TOKEN_MAX) }),
    answer: null,
    async handle({ access }, { body, caller: { address }, request }) {
      const cookie = await access.signIn(body.token, { request, address })
      return withCookie(request, cookie, YEAR_S)
    },
  }),
  route({
    method: 'delete',
    path: '/session',
    role: null,
    summary: 'Signs a browser out: removes the cookie',
    answer: null,
    handle: (_desk, { request }) => withCookie(request, '', 0),
  }),
]

/** Without a path the browser sends it to this API only, wherever the API is mounted. */
function withCookie(request: Request, value: string, maxAgeS: number): Response {
  const secure = request.headers.get('origin')?.startsWith('https:') ? '; Secure' : ''
  const cookie = `${cookieName(request)}=${value}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } })
}
