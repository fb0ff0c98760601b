/** What a terminal shows of what was written to it: as much of one as we use, and an error for everything else. */
export class Screen {
  columns: number
  rows: number
  /** The other one is what was there before, and comes back. */
  isAlternate = false
  hasCursor = true
  wraps = true
  #cells: string[][]
  #main: { cells: string[][]; row: number; column: number } | null = null
  #row = 0
  #column = 0
  #pending = ''

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
    this.#cells = blank(columns, rows)
  }

  get lines(): string[] {
    return this.#cells.map((line) => line.join('').trimEnd())
  }

  get text(): string {
    return this.lines.join('\n').trimEnd()
  }

  resize(columns: number, rows: number): void {
    this.columns = columns
    this.rows = rows
    this.#cells = Array.from({ length: rows }, (_, y) =>
      Array.from({ length: columns }, (_, x) => this.#cells[y]?.[x] ?? ' '),
    )
    this.#row = Math.min(this.#row, rows - 1)
    this.#column = Math.min(this.#column, columns - 1)
  }

  write(text: string): void {
    let rest = this.#pending + text
    this.#pending = ''
    while (rest !== '') {
      if (rest[0] !== '\x1b') {
        const [one] = rest
        this.#put(one!)
        rest = rest.slice(one!.length)
        continue
      }
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with
      const sequence = /^\x1b\[(\??)([0-9;]*)([A-Za-z])/.exec(rest)
      if (sequence === null) {
        // The rest of it is on its way.
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they begin with
        if (!/^\x1b(\[\??[0-9;]*)?$/.test(rest))
          throw new Error(`not ours: ${JSON.stringify(rest.slice(0, 20))}`)
        this.#pending = rest
        return
      }
      const [whole, mark, numbers, verb] = sequence
      this.#obey(mark! + verb!, numbers === '' ? [] : numbers!.split(';').map(Number))
      rest = rest.slice(whole.length)
    }
  }

  #put(one: string): void {
    if (one === '\r') this.#column = 0
    else if (one === '\n') this.#lineFeed()
    else if (one < ' ' || (one >= '\x7f' && one < '\xa0')) throw new Error(`not ours: ${JSON.stringify(one)}`)
    else {
      if (this.#column >= this.columns) {
        if (!this.wraps) this.#column = this.columns - 1
        else {
          this.#column = 0
          this.#lineFeed()
        }
      }
      this.#cells[this.#row]![this.#column] = one
      this.#column += 1
    }
  }

  #lineFeed(): void {
    if (this.#row < this.rows - 1) this.#row += 1
    else this.#cells = [...this.#cells.slice(1), ...blank(this.columns, 1)]
  }

  #obey(verb: string, [first = 0, second = 0]: readonly number[]): void {
    const line = this.#cells[this.#row]!
    if (verb === 'm') return
    if (verb === 'H') {
      this.#row = Math.max(0, first - 1)
      this.#column = Math.max(0, second - 1)
    } else if (verb === 'G') this.#column = Math.max(0, first - 1)
    else if (verb === 'K' && first === 0) line.fill(' ', this.#column)
    else if (verb === 'J' && first === 0) {
      line.fill(' ', this.#column)
      for (const below of this.#cells.slice(this.#row + 1)) below.fill(' ')
    } else if (verb === '?h' || verb === '?l') this.#set(first, verb === '?h')
    else throw new Error(`not ours: ${verb} ${first}`)
  }

  #set(mode: number, on: boolean): void {
    if (mode === 7) this.wraps = on
    else if (mode === 25) this.hasCursor = on
    else if (mode === 1049) this.#swap(on)
    else throw new Error(`not ours: mode ${mode}`)
  }

  #swap(on: boolean): void {
    if (on === this.isAlternate) return
    this.isAlternate = on
    if (on) {
      this.#main = { cells: this.#cells, row: this.#row, column: this.#column }
      this.#cells = blank(this.columns, this.rows)
    } else if (this.#main !== null) {
      this.#cells = this.#main.cells
      this.#row = this.#main.row
      this.#column = this.#main.column
      this.resize(this.columns, this.rows)
    }
  }
}

function blank(columns: number, rows: number): string[][] {
  return Array.from({ length: rows }, () => Array<string>(columns).fill(' '))
}
