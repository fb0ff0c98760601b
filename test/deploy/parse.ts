/** The sections of a systemd unit; a key may be given several times. */
export function parseUnit(text: string): Record<string, Record<string, string[]>> {
  const sections: Record<string, Record<string, string[]>> = {}
  let section: Record<string, string[]> | undefined
  for (const line of text.split('\n')) {
    if (/^\s*(?:[#;].*)?$/.test(line)) continue
    const title = /^\[(\w+)\]$/.exec(line)?.[1]
    if (title !== undefined) {
      section = sections[title] ?? {}
      sections[title] = section
      continue
    }
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (section === undefined || key === undefined) throw new Error(`not a line of a unit: ${line}`)
    section[key] = [...(section[key] ?? []), value!]
  }
  return sections
}

interface Dockerfile {
  env: [name: string, value: string][]
  cmd: string[]
  healthcheck: string[]
  stopsignal: string
  expose: string
  volume: string
}

/** What the last stage of a Dockerfile says. */
export function parseDockerfile(text: string): Dockerfile {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  const of = (instruction: string) => {
    const line = stage.findLast((one) => one.startsWith(`${instruction} `))
    if (line === undefined) throw new Error(`the Dockerfile has no ${instruction}`)
    return line.slice(instruction.length + 1)
  }
  return {
    env: [...of('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
    cmd: JSON.parse(of('CMD')),
    healthcheck: JSON.parse(/CMD (\[.*\])$/.exec(of('HEALTHCHECK'))![1]!),
    stopsignal: of('STOPSIGNAL'),
    expose: of('EXPOSE'),
    volume: of('VOLUME'),
  }
}
