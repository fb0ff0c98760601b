/** From one version of the app to `gleaner dev`, which watches its files. */
export type FromVersion =
  /** Files of your code that it loaded. */
  | { kind: 'loaded'; files: readonly string[] }
  /** Files with these endings are code of programs that pools run. */
  | { kind: 'programs'; endings: readonly string[] }
  /** Its code and its config are sound: it may replace the version before. */
  | { kind: 'ready' }
  /** With the token, as a browser opens it. */
  | { kind: 'dashboard'; address: string }
  /** Each of its workers is ready, or has failed. */
  | { kind: 'running' }

export type ToVersion = { kind: 'go'; quietly: boolean } | { kind: 'stop'; drainMs: number }

/** What `gleaner dev` was started with, in the environment of each version. */
export interface VersionSetting {
  config: string
  verbose: boolean
  colours: boolean
}

export const SETTING = 'GLEANER_DEV_VERSION'
