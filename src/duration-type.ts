/** `'250ms' | '5s' | '2m' | '1h' | '7d'`, or a number of milliseconds. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`
