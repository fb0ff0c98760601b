/** A logger with the methods of pino: details first, then the message. */
export interface Logger {
  /** For people who look for a bug. */
  debug(details: object, message: string): void
  /** Normal events. */
  info(details: object, message: string): void
  /** Events that a person may need to look at. */
  warn(details: object, message: string): void
  /** Problems that a person must look at. */
  error(details: object, message: string): void
}

const nothing = () => {}
export const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
