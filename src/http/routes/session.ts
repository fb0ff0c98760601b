import { z } from 'zod'
import { cookieName } from '../protocol/request-origin.ts'
import { type Route, route } from './route.ts'

const YEAR_S = 31_536_000
const TOKEN_MAX = 1_000

export const sessionRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/session',
    role: null,
    summary:
      'Signs a browser in: sets a cookie that scripts cannot read, and returns the key to send with it',
    body: z.strictObject({ token: z.string().min(1).max(TOKEN_MAX) }),
    answer: z.object({ key: z.string().describe('to be sent as the header gleaner-key, beside the cookie') }),
    async handle({ access }, { body, caller: { address }, request }) {
      const { cookie, key } = await access.signIn(body.token, { request, address })
      return Response.json({ key }, { headers: cookieHeader(request, cookie, YEAR_S) })
    },
  }),
  route({
    method: 'delete',
    path: '/session',
    role: null,
    summary: 'Signs a browser out: removes the cookie',
    answer: null,
    handle: (_desk, { request }) =>
      new Response(null, { status: 204, headers: cookieHeader(request, '', 0) }),
  }),
]

/** Without a path the browser sends it to this API only, wherever the API is mounted. */
function cookieHeader(request: Request, value: string, maxAgeS: number): { 'set-cookie': string } {
  const secure = request.headers.get('origin')?.startsWith('https:') ? '; Secure' : ''
  return {
    'set-cookie': `${cookieName(request)}=${value}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`,
  }
}
