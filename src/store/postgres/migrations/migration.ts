/** One step of the tables. A step that was released never changes. */
export interface Migration {
  version: number
  name: string
  sql: (schema: string) => string
}
