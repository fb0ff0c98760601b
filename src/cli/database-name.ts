/** A database as it may stand on a screen. */
export function withoutPassword(database: string): string {
  return database
    .replace(/^(\w+:\/\/[^:/@]*):[^/?#]*@/, '$1@')
    .replace(/([?&](?:password|sslpassword)=)[^&]*/gi, '$1…')
}
