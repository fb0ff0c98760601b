import { parseArgs, styleText } from 'node:util'
import { serverForTests } from '../../test/postgres-server.ts'
import type { Guard } from './guard.ts'
import { GUARDS } from './list.ts'
import { type Proof, proveGuards } from './prove.ts'

// npm run guards [-- --only <text> --jobs <n> --limit <seconds>]
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '1' },
    limit: { type: 'string', default: '180' },
  },
})
const guards = GUARDS.filter(({ name, file, promise }) =>
  `${name}\n${file}\n${promise}`.toLowerCase().includes(values.only.toLowerCase()),
)
const jobs = Math.max(1, Math.min(Number.parseInt(values.jobs, 10) || 1, guards.length))

if (guards.length === 0) {
  console.error(`No guard matches "${values.only}".`)
  process.exit(2)
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

const nameWidth = Math.max(...guards.map(({ name }) => name.length))
const startedAt = performance.now()

// One for all of them: to start one takes longer than most of the tests.
const server = await serverForTests()
process.env.GLEANER_TEST_POSTGRES_URL = server.url

try {
  const proofs = await proveGuards(guards, {
    root: `${import.meta.dirname}/../..`,
    jobs,
    limitMs: Number(values.limit) * 1000,
    signal: stop.signal,
    onProof: (guard, proof) => console.log(row(guard, proof)),
  })
  const kinds = [...proofs.values()].map(({ kind }) => kind)
  const count = (wanted: Proof['kind']) => kinds.filter((kind) => kind === wanted).length
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(
    `\n${guards.length} guards taken out: ${count('noticed')} noticed, ${count('unnoticed')} unnoticed, ` +
      `${count('unproven')} unproven, in ${seconds} s`,
  )
  process.exitCode = count('noticed') === guards.length ? 0 : 1
} catch (error) {
  if (!stop.signal.aborted) throw error
  console.error('Stopped.')
  process.exitCode = 130
} finally {
  await server.stop()
}

function row(guard: Guard, proof: Proof): string {
  const name = guard.name.padEnd(nameWidth)
  const where = `${guard.test.file} › ${guard.test.title}`
  switch (proof.kind) {
    case 'noticed':
      return `${styleText('green', '✓ noticed  ')} ${name}  ${styleText('dim', where)}\n${note(proof.failure)}`
    case 'unnoticed':
      return `${styleText('red', '✗ UNNOTICED')} ${name}  ${where}\n${note(guard.promise)}`
    case 'unproven':
      return `${styleText('red', '? UNPROVEN ')} ${name}  ${where}\n${note(proof.why)}`
  }
}

function note(text: string): string {
  return styleText('dim', `            ${text}`)
}
