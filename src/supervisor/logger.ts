/** As pino has it: what is known of the moment first, then the words. */
export interface Logger {
  debug(details: object, message: string): void
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

const nothing = () => {}
export const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
