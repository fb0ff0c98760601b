import '../node-version.ts'

export type { AccessToken, Tokens } from '../config/tokens.ts'
export type { Authorize, Authorized } from '../config/types.ts'
export { type Api, type ApiOptions, createApi } from './api.ts'
export type { HubTimings } from './events/hub.ts'
export type { AccessOptions } from './protocol/access.ts'
export { nodeHandler, type RunningServer, type ServeOptions, serve } from './serve.ts'
export type * from './wire/types.ts'
