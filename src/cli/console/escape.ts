/**
 * What a terminal would obey, or would show as something else than it is: control characters (also the 8-bit ones), marks that turn
 * the direction of writing, separators of lines, half characters. Joiners stay: scripts and emoji are made with them.
 */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** As one line that a terminal only shows. Written so that JSON means the same before and after. */
export function escaped(text: string): string {
  return text.replace(OBEYED, (one) => SHORT[one] ?? [...codeUnits(one)].map(hex).join(''))
}

function* codeUnits(text: string): Generator<number> {
  for (let i = 0; i < text.length; i++) yield text.charCodeAt(i)
}

function hex(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
