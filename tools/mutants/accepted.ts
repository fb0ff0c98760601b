/** Mutants that no test can notice, or need not, each with its reason. By name; see `nameOf`. */
export const ACCEPTED: Readonly<Record<string, string>> = {}
