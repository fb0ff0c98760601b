/** Pictures are drawn for a phone: 400 units wide, with letters that stay readable at 360 pixels. */
const WIDTH = 400
/** How wide a picture is where there is room. */
const WIDTH_SHOWN = 480

export type Kind = 'plain' | 'work' | 'wait' | 'good' | 'warn' | 'bad' | 'outside'
type Point = readonly [x: number, y: number]

interface Picture {
  /** Also its text alternative, with `text`. */
  title: string
  text: string
  height: number
  parts: readonly string[]
}

const STYLE = `
  :root { --panel: #ffffff; --edge: #d3dae0; --text: #17222c; --soft: #4d5b67; --line: #5a6976;
    --plain: #eef2f5; --work: #dff1ea; --work-edge: #0b6b52; --wait: #e4edf9; --wait-edge: #2b5f9e;
    --warn: #fcefd8; --warn-edge: #8f5600; --bad: #fae3e3; --bad-edge: #a3262c }
  @media (prefers-color-scheme: dark) { :root { --panel: #14191e; --edge: #35414c; --text: #e7ecf0; --soft: #a9b5bf;
    --line: #93a3b0; --plain: #232c34; --work: #14392f; --work-edge: #5fd3ac; --wait: #1a2f49; --wait-edge: #8ab8f0;
    --warn: #3b2c11; --warn-edge: #e9b55d; --bad: #421b1e; --bad-edge: #f2a0a3 } }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif; fill: var(--soft) }
  text.name { font-size: 15px; font-weight: 600; fill: var(--text) }
  text.over { paint-order: stroke; stroke: var(--panel); stroke-width: 5px; stroke-linejoin: round }
  .panel { fill: var(--panel); stroke: var(--edge) }
  .box { stroke-width: 1.5; fill: var(--plain); stroke: var(--line) }
  .work, .good { fill: var(--work); stroke: var(--work-edge) }
  .wait { fill: var(--wait); stroke: var(--wait-edge) }
  .warn { fill: var(--warn); stroke: var(--warn-edge) }
  .bad { fill: var(--bad); stroke: var(--bad-edge) }
  .outside { fill: none; stroke-dasharray: 5 4 }
  .line { fill: none; stroke: var(--line); stroke-width: 1.5 }
  .head { fill: var(--line) }`

export function picture({ title, text, height, parts }: Picture): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH_SHOWN}" height="${(height * WIDTH_SHOWN) / WIDTH}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title text">
<title id="title">${escaped(title)}</title>
<desc id="text">${escaped(text)}</desc>
<style>${STYLE}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0 1 10 5 0 9z"/></marker></defs>
<rect class="panel" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="10"/>
${parts.join('\n')}
</svg>
`
}

interface Box {
  at: Point
  size: Point
  kind?: Kind
  name: string
  /** Below the name. */
  note?: string
}

export function box({ at: [x, y], size: [width, height], kind = 'plain', name, note }: Box): string {
  const middle = x + width / 2
  const centre = y + height / 2
  const rect = `<rect class="box ${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="7"/>`
  return [
    rect,
    words([name], [middle, note === undefined ? centre + 5 : centre - 4], 'middle', 'name'),
    ...(note === undefined ? [] : [words([note], [middle, centre + 15], 'middle')]),
  ].join('')
}

/** A line through these points, with a head at its end. */
export function arrow(...points: readonly Point[]): string {
  return `<path class="line" d="M${points.map(([x, y]) => `${x} ${y}`).join(' L')}" marker-end="url(#head)"/>`
}

export function line(...points: readonly Point[]): string {
  return `<path class="line" d="M${points.map(([x, y]) => `${x} ${y}`).join(' L')}"/>`
}

/** Lines of text; the first one stands at this point. */
export function words(
  lines: readonly string[],
  [x, y]: Point,
  anchor: 'start' | 'middle' | 'end' = 'start',
  style?: 'name' | 'over',
): string {
  const attributes = `x="${x}" text-anchor="${anchor}"${style === undefined ? '' : ` class="${style}"`}`
  return lines.map((text, n) => `<text ${attributes} y="${y + n * 16}">${escaped(text)}</text>`).join('')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
