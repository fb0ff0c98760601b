import { sqlitePath } from '../../store/by-url/open.ts'

/** A database as it may stand on a screen. */
export function withoutPassword(database: string): string {
  if (sqlitePath(database) !== undefined) return database
  // Up to the last @: a password with characters that a URL must escape is a mistake, and still a password.
  return database
    .replace(/^(\w+:(?:\/\/)?[^:/@]*):.*@/s, '$1@')
    .replace(/([?&](?:password|sslpassword)=)[^&]*/gi, '$1…')
}
