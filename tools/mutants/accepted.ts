/** Mutants that no test can notice, each with its reason. By name; see `nameOf`. */
export const ACCEPTED: Readonly<Record<string, string>> = {
  'lease-clock.ts: if (stepMs < 0) return 0 » < → <=': 'A step of 0 ms counts 0 ms either way.',
  'lease-clock.ts: if (stepMs < 0) return 0 » 0 → 1':
    'Steps are whole milliseconds: one of 0 ms counts 0 ms either way.',
  'exit.ts: const how = signal === null ? (CODES[code ?? -1] ?? `it exited with code ${code}`) : `killed by ${signal}` » code ?? -1 → code':
    'No exit code is called null.',
  'exit.ts: const how = signal === null ? (CODES[code ?? -1] ?? `it exited with code ${code}`) : `killed by ${signal}` » -1 → 1':
    'No exit code of ours is 1.',
  'exit.ts: const how = signal === null ? (CODES[code ?? -1] ?? `it exited with code ${code}`) : `killed by ${signal}` » 1 → 2':
    'No exit code of ours is -2.',
  "exit.ts: const advice = ADVICE[code ?? ''] » code ?? '' → code":
    'No code of an error is called undefined.',
}
