type Labels = Readonly<Record<string, string | number>>

interface Family {
  type: 'gauge' | 'counter' | 'histogram'
  help: string
  lines: string[]
}

/** Text as Prometheus reads it: the lines of one name together. */
export class Exposition {
  readonly #families = new Map<string, Family>()

  gauge(name: string, help: string, value: number, labels: Labels = {}): void {
    this.#lines('gauge', name, help).push(line(name, labels, value))
  }

  counter(name: string, help: string, value: number, labels: Labels = {}): void {
    this.#lines('counter', name, help).push(line(name, labels, value))
  }

  histogram(
    name: string,
    help: string,
    {
      buckets,
      sum,
      count,
    }: { buckets: readonly { le: number; count: number }[]; sum: number; count: number },
    labels: Labels,
  ): void {
    this.#lines('histogram', name, help).push(
      ...buckets.map((one) => line(`${name}_bucket`, { ...labels, le: one.le }, one.count)),
      line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
      line(`${name}_sum`, labels, sum),
      line(`${name}_count`, labels, count),
    )
  }

  text(): string {
    return [...this.#families]
      .map(
        ([name, { type, help, lines }]) =>
          `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`,
      )
      .join('')
  }

  #lines(type: Family['type'], name: string, help: string): string[] {
    const family = this.#families.get(name) ?? { type, help, lines: [] }
    this.#families.set(name, family)
    return family.lines
  }
}

function line(name: string, labels: Labels, value: number): string {
  const inside = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
  return `${name}${inside.length > 0 ? `{${inside.join(',')}}` : ''} ${value}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
