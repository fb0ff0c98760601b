/** How a worker process ends: part of the contract with whoever runs it. */
export const EXIT = {
  clean: 0,
  configuration: 10,
  database: 11,
  resource: 12,
  resourceErrors: 13,
} as const
