import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { validate } from 'dockerfile-utils'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { LEAVE_MS } from '../../src/supervisor/stopping.ts'
import { timingsOf } from '../../src/supervisor/timings.ts'
import { gleaner } from '../cli/cli.ts'
import { folderWith } from '../config/files.ts'
import { checkout, ended, line, start } from '../examples/run-example.ts'
import { deploy, deployedApp, lifeOf, TOKEN } from './app.ts'
import { parseDockerfile, parseUnit } from './parse.ts'

const unit = parseUnit(deploy('gleaner.service'))
const dockerfile = parseDockerfile(deploy('Dockerfile'))
const compose = parse(deploy('compose.yaml'), { merge: true })
const manifests = ['kubernetes-sqlite.yaml', 'kubernetes-postgres.yaml'].flatMap((file) =>
  parseAllDocuments(deploy(file)).map((document) => document.toJS()),
)
const sets = manifests.filter(({ kind }) => kind === 'StatefulSet')
const pm2 = createRequire(import.meta.url)(join(checkout, 'examples/deploy/ecosystem.config.cjs')).apps[0]

describe('every way to deploy gives a stop the time that it can take', () => {
  // The drain, the exit, SIGTERM until SIGKILL; then the server closes (2 s) and the log is written (1 s).
  const { drainMs, termMs } = timingsOf()
  const longestMs = drainMs + LEAVE_MS + termMs + 3_000
  const seconds = (text: string) => Number(/^(\d+)s?$/.exec(text)![1]) * 1_000

  test.each([
    ['systemd', seconds(unit.Service!.TimeoutStopSec!.at(-1)!)],
    ['PM2', pm2.kill_timeout],
    ...Object.entries<any>(compose.services).map(([name, { stop_grace_period }]): [string, number] => [
      `Compose, ${name}`,
      seconds(stop_grace_period),
    ]),
    ...sets.map(({ metadata, spec }): [string, number] => [
      `Kubernetes, ${metadata.name}`,
      spec.template.spec.terminationGracePeriodSeconds * 1_000,
    ]),
  ])('%s', (_name, graceMs) => {
    expect(graceMs).toBeGreaterThan(longestMs)
    expect(graceMs).toBe(30_000)
  })
})

describe('systemd', () => {
  const place = (text: string, app: string) =>
    text
      .replaceAll('/usr/bin/node', process.execPath)
      .replaceAll('/srv/app', app)
      .replaceAll('/var/backups/app', join(app, 'backups'))

  test('the ExecStart of the unit runs the supervisor, and SIGTERM lets a running task finish', async () => {
    const app = deployedApp()
    const database = join(app, 'app.db')
    const { status, id } = await lifeOf({
      command: place(unit.Service!.ExecStart![0]!, app).split(' '),
      cwd: place(unit.Service!.WorkingDirectory![0]!, app),
      env: { GLEANER_DATABASE: `sqlite:${database}` },
      signal: 'SIGTERM',
    })
    expect(status).toBe(0)
    expect(await statusOf(app, database, id)).toBe('completed')
  })

  test('the signal reaches the supervisor alone, and a killed worker does not stop the service', () => {
    expect(unit.Service).toMatchObject({ KillMode: ['mixed'], OOMPolicy: ['continue'], Restart: ['always'] })
  })

  test('the ExecStart of the backup writes one backup for each day of the week', async () => {
    const app = deployedApp()
    const database = `sqlite:${join(app, 'app.db')}`
    await gleaner({ cwd: app, env: { GLEANER_DATABASE: database } }, 'migrate')
    mkdirSync(join(app, 'backups'))
    const backup = parseUnit(deploy('gleaner-backup.service')).Service!
    // systemd reads %% as a percent sign.
    const command = place(backup.ExecStart![0]!, app).replaceAll('%%', '%')
    const ran = spawnSync('/bin/sh', ['-c', command], {
      cwd: app,
      env: { ...process.env, GLEANER_DATABASE: database },
      encoding: 'utf8',
    })
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 })
    expect(readdirSync(join(app, 'backups'))).toEqual([expect.stringMatching(/^app-\w+\.db$/)])
    const writable = backup.ReadWritePaths![0]!
    expect(dirname(/"([^"]+)"/.exec(backup.ExecStart![0]!)![1]!)).toBe(writable)
  })
})

describe('Docker', () => {
  test('the linter finds nothing in the Dockerfile, and finds what is planted', () => {
    expect(validate(deploy('Dockerfile'))).toEqual([])
    const planted = deploy('Dockerfile').replace('STOPSIGNAL SIGTERM', 'STOPSIGNAL SIGTREM\nEXPOSE here')
    expect(validate(planted).length).toBeGreaterThan(0)
  })

  test('the CMD of the image runs, its HEALTHCHECK says when it is healthy, and the log holds no token', async () => {
    const app = deployedApp()
    const data = folderWith({})
    const inImage = (text: string) =>
      text.replaceAll('/app/', `${app}/`).replaceAll('/data/', `${data}/`).replace('$PATH', '')
    const env = Object.fromEntries(dockerfile.env.map(([name, value]) => [name, inImage(value)]))
    const healthy = (port: string) => {
      const [program = '', ...args] = dockerfile.healthcheck
      const command = args.map((text) => text.replace(':8356', `:${port}`))
      return ended(start(program === 'node' ? process.execPath : program, command))
    }
    let port = ''
    const { status, id, log } = await lifeOf({
      command: dockerfile.cmd,
      cwd: app,
      env,
      signal: dockerfile.stopsignal as NodeJS.Signals,
      async whileReady(url) {
        port = new URL(url).port
        expect(await healthy(port)).toEqual({ status: 0, stdout: '', stderr: '' })
      },
    })
    expect(status).toBe(0)
    expect((await healthy(port)).status).toBe(1)
    expect(log).not.toContain(TOKEN)
    expect(await statusOf(app, join(data, 'app.db'), id)).toBe('completed')
  })

  test('the compose file names services, volumes and ports that fit the image', async () => {
    expect(Object.keys(compose).sort()).toEqual(['services', 'volumes'])
    const known = ['build', 'command', 'environment', 'healthcheck', 'hostname', 'init', 'ports', 'restart']
    const keys = Object.values<object>(compose.services).flatMap((service) => Object.keys(service))
    expect(keys.filter((key) => ![...known, 'stop_grace_period', 'volumes'].includes(key))).toEqual([])
    for (const { volumes, init, ports } of Object.values<any>(compose.services)) {
      expect(init).toBe(true)
      for (const volume of volumes) {
        const [name, path] = volume.split(':')
        expect(Object.keys(compose.volumes)).toContain(name)
        expect(dockerfile.volume).toBe(path)
      }
      // From outside of the machine only a proxy with TLS may be reached.
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
    }
    expect(compose.services.jobs.ports[0].split(':').at(-1)).toBe(dockerfile.expose)
  })

  test('the web process of the compose file enqueues, and stops on SIGTERM', async () => {
    const app = deployedApp()
    const database = join(app, 'app.db')
    const [, file] = compose.services.web.command
    const env = { ...compose.services.web.environment, GLEANER_DATABASE: `sqlite:${database}`, PORT: '0' }
    const web = start(process.execPath, [file], { cwd: app, env })
    const end = ended(web)
    const [, port] = await line(web, /listening on port (\d+)\n/)
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    const accepted = await fetch(`http://127.0.0.1:${port}/ada@example.org`, { method: 'POST' })
    expect(accepted.status).toBe(202)
    const { id } = (await accepted.json()) as { id: string }
    web.kill('SIGTERM')
    expect(await end).toMatchObject({ status: 0, stderr: '' })
    expect(await statusOf(app, database, id)).toBe('queued')
  })
})

describe('Kubernetes', () => {
  const TYPES: Record<string, string> = {
    StatefulSet: 'apps/v1',
    Service: 'core/v1',
    PodDisruptionBudget: 'policy/v1',
  }

  async function typeErrors(objects: readonly any[]): Promise<string> {
    const program = objects.map(
      (object, i) =>
        `export const o${i}: import('kubernetes-types/${TYPES[object.kind]}').${object.kind} = ${JSON.stringify(object)}`,
    )
    const folder = folderWith({ 'manifests.ts': program.join('\n') })
    const types = join(checkout, 'node_modules/kubernetes-types')
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--types', '']
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(types, join(folder, 'node_modules/kubernetes-types'))
    const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
    return (await ended(start(process.execPath, [tsc, ...options, 'manifests.ts'], { cwd: folder }))).stdout
  }

  test('every manifest has the fields and the types of the API, and a misspelled field is found', async () => {
    expect(manifests.map(({ kind }) => kind)).toEqual([
      'StatefulSet',
      'Service',
      'StatefulSet',
      'Service',
      'PodDisruptionBudget',
    ])
    expect(await typeErrors(manifests)).toBe('')
    const planted = structuredClone(manifests[0])
    planted.spec.template.spec.terminationGracePeriod = 30
    planted.spec.replicas = '1'
    const errors = await typeErrors([planted])
    expect(errors).toContain('terminationGracePeriod')
    expect(errors).toContain("Type 'string' is not assignable to type 'number'")
  })

  test('selectors, ports and volumes name what exists', () => {
    for (const { spec } of sets) {
      const pod = spec.template.spec
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
      const volumes = [
        ...(pod.volumes ?? []),
        ...(spec.volumeClaimTemplates ?? []).map((v: any) => v.metadata),
      ]
      for (const container of pod.containers) {
        const ports = container.ports.map(({ name }: { name: string }) => name)
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
          if (container[probe] !== undefined) expect(ports).toContain(container[probe].httpGet.port)
        for (const { name } of container.volumeMounts) expect(volumes.map((v) => v.name)).toContain(name)
      }
    }
    for (const { spec } of manifests.filter(({ kind }) => kind === 'Service')) {
      const set = sets.find((one) => one.spec.template.metadata.labels.app === spec.selector.app)!
      const names = set.spec.template.spec.containers.flatMap((one: any) => one.ports).map((p: any) => p.name)
      for (const { targetPort } of spec.ports) expect(names).toContain(targetPort)
      expect(set.spec.serviceName).toBe(set.metadata.name)
    }
  })

  test('containers run the commands that the tests of Docker run, on its ports and probes', () => {
    const containers = sets.flatMap(({ spec }) => spec.template.spec.containers)
    expect(containers.map(({ args }) => args)).toEqual([
      compose.services.web.command,
      dockerfile.cmd,
      dockerfile.cmd,
    ])
    for (const container of containers.filter(({ args }) => args[0] === 'gleaner')) {
      expect(String(container.ports[0].containerPort)).toBe(dockerfile.expose)
      expect(container.livenessProbe.httpGet.path).toBe('/healthz')
      expect(container.env.map(({ name }: { name: string }) => name)).toContain('GLEANER_TOKEN')
    }
  })

  test('SQLite has one pod with one volume', () => {
    const [sqlite] = sets
    expect(sqlite.spec.replicas).toBe(1)
    expect(sqlite.spec.volumeClaimTemplates[0].spec.accessModes).toEqual(['ReadWriteOncePod'])
    expect(sqlite.spec.template.spec.securityContext.fsGroupChangePolicy).toBe('OnRootMismatch')
  })
})

test('PM2: the script of the ecosystem file runs the supervisor, and SIGINT lets a running task finish', async () => {
  const app = deployedApp()
  const { status, id } = await lifeOf({
    command: [process.execPath, join(app, pm2.script), ...pm2.args.split(' ')],
    cwd: app,
    env: {},
    signal: 'SIGINT',
  })
  expect(status).toBe(0)
  expect(await statusOf(app, join(app, 'app.db'), id)).toBe('completed')
  expect(pm2).toMatchObject({ exec_mode: 'fork', instances: 1, treekill: false })
})

async function statusOf(app: string, database: string, id: string): Promise<string> {
  const env = { GLEANER_DATABASE: `sqlite:${database}` }
  const { stdout } = await gleaner({ cwd: app, env }, 'tasks', 'show', id, '--json')
  return JSON.parse(stdout).status
}
