/** Where we are mounted: our own script is in `assets/` below it. */
export const BASE: string = new URL(import.meta.url).pathname.replace(/assets\/[^/]*$/, '')
export const API: string = `${BASE}api/v1`
