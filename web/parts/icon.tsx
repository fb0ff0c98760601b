/** Drawn on a grid of 20, in the colour of the text around them. */
const PATHS = {
  overview: 'M3 16V9m5 7V4m5 12v-5m4 5V7',
  tasks: 'M7 5h10M7 10h10M7 15h10M3 5h.01M3 10h.01M3 15h.01',
  queues: 'M3 5h14M3 10h14M3 15h9',
  discoveries: 'M9 15a6 6 0 1 1 0-12 6 6 0 0 1 0 12Zm4.5-1.5L17 17',
  workers: 'M4 6h6m3 0h3M4 10h2m3 0h7M4 14h9m3 0h0',
  system:
    'M4 5.5C4 4.1 6.7 3 10 3s6 1.1 6 2.5S13.300 8 10 8 4 6.900 4 5.500Zm0 0v9C4 15.900 6.700 17 10 17s6-1.100 6-2.500v-9M4 10c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500',
  enqueue: 'M10 4v12M4 10h12',
  retry: 'M4 10a6 6 0 1 1 2 4.500M4 16v-3.500h3.500',
  cancel: 'M6 6l8 8M14 6l-8 8',
  remove: 'M4 6h12M8 6V4h4v2m-6 0 .7 10h6.600L14 6',
  copy: 'M7 7V4h9v9h-3M4 7h9v9H4Z',
  pause: 'M7 5v10M13 5v10',
  resume: 'M6 4.500v11l9-5.500Z',
  search: 'M9 15a6 6 0 1 1 0-12 6 6 0 0 1 0 12Zm4.500-1.500L17 17',
  release: 'M6 9V6.500a4 4 0 0 1 7.500-2M5 9h10v8H5Z',
  sun: 'M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7ZM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100',
  moon: 'M16 11.500A6.500 6.500 0 0 1 8.500 4a6.500 6.500 0 1 0 7.500 7.500Z',
  auto: 'M10 3a7 7 0 1 0 0 14V3Z',
  warning: 'M10 3.500 17.500 16.500h-15ZM10 8v4m0 2.200v.1',
  ok: 'M4 10.500 8.500 15 16 6',
  out: 'M8 4H4v12h4M12 7l3 3-3 3M15 10H8',
  clock: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm0 3v4l3 2',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
