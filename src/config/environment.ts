import { badField } from './fields.ts'

/** What the environment says; it goes before the config, which is the same on every machine. */
export interface Environment {
  database: string | undefined
  host: string | undefined
  port: number | undefined
  token: string | undefined
  viewerToken: string | undefined
}

export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  // Empty is not set: that is how a variable is switched off in many places.
  const said = (name: string) => env[name] || undefined
  return {
    database: said('GLEANER_DATABASE'),
    host: said('GLEANER_HOST'),
    port: portOf(said('GLEANER_PORT')),
    token: said('GLEANER_TOKEN'),
    viewerToken: said('GLEANER_VIEWER_TOKEN'),
  }
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw badField('GLEANER_PORT', text, 'Use a port from 0 to 65535.')
}
