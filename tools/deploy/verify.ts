// npm run verify:deploy: checks examples/deploy with the tools that these files are for, as far as this machine has them.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = join(import.meta.dirname, '../../examples/deploy')
const scratch = mkdtempSync(join(tmpdir(), 'gleaner-deploy-'))
cpSync(source, scratch, { recursive: true })

const checks: [name: string, command: string, ...args: string[]][] = [
  ...['gleaner.service', 'gleaner-backup.service'].map((unit): [string, string, ...string[]] => [
    unit,
    'systemd-analyze',
    'verify',
    '--man=no',
    verifiable(unit),
  ]),
  ['gleaner-backup.timer', 'systemd-analyze', 'verify', '--man=no', join(scratch, 'gleaner-backup.timer')],
  ['compose.yaml', 'docker', 'compose', '--file', join(scratch, 'compose.yaml'), 'config', '--quiet'],
  ['Dockerfile', 'hadolint', join(scratch, 'Dockerfile')],
  ...['kubernetes-postgres.yaml', 'kubernetes-sqlite.yaml'].map((file): [string, string, ...string[]] => [
    file,
    'kubeconform',
    '-strict',
    join(scratch, file),
  ]),
]

for (const [name, command, ...args] of checks) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  const said = `${stdout ?? ''}${stderr ?? ''}`.trim()
  // Without its plugin for Compose, docker takes the options of `compose` for its own.
  const isMissing =
    (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' || said.includes('unknown flag: --file')
  if (isMissing) console.log(`not checked  ${name}: this machine has no ${command}`)
  else if (status === 0 && (command !== 'systemd-analyze' || said === '')) console.log(`ok           ${name}`)
  else {
    console.log(`BAD          ${name} (${command})\n${said}`)
    process.exitCode = 1
  }
}
rmSync(scratch, { recursive: true, force: true })

/** systemd asks for the program, the user and the files of a unit, which only the target machine has. */
function verifiable(unit: string): string {
  const file = join(scratch, unit)
  const text = readFileSync(file, 'utf8')
    .replaceAll('/usr/bin/node', process.execPath)
    .replaceAll(/^(?:User|Group)=app$/gm, '')
    .replaceAll('/srv/app', scratch)
  writeFileSync(file, text)
  return file
}
