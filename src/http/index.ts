import '../node-version.ts'

export type { AccessOptions, Authorized } from './access.ts'
export { type Api, type ApiOptions, createApi } from './api.ts'
export type { HubTimings } from './events/hub.ts'
export { nodeHandler, type RunningServer, type ServeOptions, serve } from './serve.ts'
export type * from './wire.ts'
