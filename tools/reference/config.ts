import { slug } from '../docs/slug.ts'
import type { Door, Entry, Member } from '../public-api/entries.ts'

/** A place in the config, and the type that declares what can stand there. */
export interface Place {
  path: string
  type: string
  about: string
}

/** Every place of a config that has options, in the order of the page. */
export const PLACES: readonly Place[] = [
  { path: '', type: 'ConfigOptions', about: 'The options of `gleaner start` alone:' },
  { path: '', type: 'GleanerOptions', about: 'The options that `openGleaner` has too:' },
  { path: 'pools.<name>', type: 'PoolOptions', about: '' },
  { path: 'server', type: 'ServerOptions', about: '' },
  { path: 'server.tokens[]', type: 'AccessToken', about: '' },
  { path: 'supervisor', type: 'SupervisorOptions', about: '' },
  { path: 'supervisor.limits', type: 'SupervisionLimits', about: '' },
  { path: 'supervisor.timings', type: 'SupervisionTimings', about: '' },
  { path: 'alerts', type: 'AlertOptions', about: '' },
  { path: 'queues.<name>', type: 'QueueOptions', about: '' },
  { path: 'queues.<name>.rate', type: 'RateOptions', about: '' },
  { path: 'retention', type: 'RetentionOptions', about: '' },
  { path: 'timings', type: 'TimingOptions', about: '' },
  { path: 'sqlite', type: 'SqliteSettings', about: '' },
  { path: 'postgres', type: 'PostgresSettings', about: '' },
  { path: 'hooks', type: 'Hooks', about: '' },
]

export interface Field {
  name: string
  type: string
  isRequired: boolean
  /** Undefined: without one, nothing happens. */
  preset: string | undefined
  about: string
}

/** The page of all fields of a config, from the types that check it. */
export function configReference(doors: readonly Door[]): string {
  return [
    '# The config',
    '',
    'Every option of `gleaner.config.ts`, with its type, its default and its meaning. `npm run reference` makes this page from the types of',
    '`defineConfig`. [The guide](../guide/config.md) shows whole configs, and says where Gleaner finds them.',
    '',
    'A duration is a number of milliseconds, or a string such as `250ms`, `5s`, `2m`, `1h` or `7d`.',
    '',
    '| place | for |',
    '| --- | --- |',
    ...titles().map(
      ([title, types]) =>
        `| [${title}](#${slug(title)}) | ${cell(types.map((type) => entryOf(doors, type).about).join(' '))} |`,
    ),
    ...PLACES.flatMap((place, index) => placeLines(doors, place, PLACES[index - 1])),
    '',
  ].join('\n')
}

export function fieldsOf(doors: readonly Door[], type: string): Field[] {
  return entryOf(doors, type).members.map(fieldOf)
}

function titles(): [string, string[]][] {
  const groups = Map.groupBy(PLACES, titleOf)
  return [...groups].map(([title, places]) => [title, places.slice(0, 1).map(({ type }) => type)])
}

function titleOf({ path }: Place): string {
  return path === '' ? 'At the top' : `\`${path}\``
}

function placeLines(doors: readonly Door[], place: Place, before: Place | undefined): string[] {
  const isNew = before === undefined || titleOf(before) !== titleOf(place)
  return [
    ...(isNew ? ['', `## ${titleOf(place)}`, '', entryOf(doors, place.type).about] : []),
    ...(place.about === '' ? [] : ['', place.about]),
    '',
    '| option | type | default | meaning |',
    '| --- | --- | --- | --- |',
    ...fieldsOf(doors, place.type).map(
      ({ name, type, isRequired, preset, about }) =>
        `| \`${name}\` | \`${cell(type)}\` | ${isRequired ? '**required**' : cell(preset ?? sectionOf(place, name) ?? 'none')} | ${cell(about)} |`,
    ),
  ]
}

/** An option that has options of its own. */
function sectionOf({ path }: Place, name: string): string | undefined {
  const inner = path === '' ? name : `${path}.${name}`
  const found = PLACES.find((place) => place.path === inner || place.path === `${inner}.<name>`)
  return found && `see [${titleOf(found)}](#${slug(titleOf(found))})`
}

function entryOf(doors: readonly Door[], type: string): Entry {
  const found = doors
    .flatMap(({ entries, mentioned }) => [...entries, ...mentioned])
    .find(({ name }) => name === type)
  if (found === undefined) throw new Error(`No door has the type ${type}.`)
  return found
}

const PRESET = /\s*\bDefault:? (?<preset>.+?)\.(?=\s|$)/

function fieldOf({ name, type, ...member }: Member): Field {
  const about = member.about.replaceAll(/\s+/g, ' ')
  const preset = PRESET.exec(about)?.groups?.preset
  return {
    name: name.replace(/\?$/, ''),
    type,
    isRequired: !name.endsWith('?'),
    preset,
    about: about.replace(PRESET, '').trim(),
  }
}

function cell(text: string): string {
  return text.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll(/\s*\n\s*/g, ' ')
}
