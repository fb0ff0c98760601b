/** What every task carries in every scenario: about 100 bytes of JSON. */
export interface Payload {
  n: number
  path: string
  size: number
  owner: string
  kind: string
}

export function payloads(count: number, from = 0): Payload[] {
  return Array.from({ length: count }, (_, index) => payloadOf(from + index))
}

export function payloadOf(n: number): Payload {
  return {
    n,
    path: 'library/albums/0001234/track-07.flac',
    size: 48_211_345,
    owner: 'user-00042',
    kind: 'scan',
  }
}
