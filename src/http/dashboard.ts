import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

/** The built dashboard: beside this file in the package, in `dist` of a checkout. */
const isSource = import.meta.url.endsWith('.ts')
const BUILT = fileURLToPath(new URL(isSource ? '../../dist/web/' : '../web/', import.meta.url))

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const FOR_EVER = 'public, max-age=31536000, immutable'
const MISSING = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gleaner</title>
<h1>The dashboard is not built</h1><p>This is a checkout of Gleaner. Build it: <code>npm run build:web</code></p></html>`

const encoders = { br: promisify(brotliCompress), gzip: promisify(gzip) }
type Encoding = keyof typeof encoders

interface Built {
  type: string
  bytes: Buffer<ArrayBuffer>
  /** Compressed once, when first asked for. */
  compressed: Partial<Record<Encoding, Promise<Buffer<ArrayBuffer>>>>
}

/** The files of the dashboard, read once for each build. What a request says is only ever looked up among their names. */
export class Dashboard {
  #files: ReadonlyMap<string, Built> = new Map()
  #builtAtMs = 0
  readonly #folder: string

  constructor(folder: string = BUILT) {
    this.#folder = folder
  }

  /**
   * `path` is below the place where we are mounted, which we do not know: the page names its files relative to itself. Null: there
   * is no such file, and whoever asked is no browser that wants to see a page.
   */
  async answer(path: string, request: Request): Promise<Response | null> {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null
    const file = this.#read().get(path.slice(1))
    if (file !== undefined && path !== '/index.html') return this.#send(file, request, FOR_EVER)
    const wantsPage = (request.headers.get('accept') ?? '').includes('text/html') || path === '/'
    if (!wantsPage || extname(path) === '.js' || path.startsWith('/api/')) return null
    return this.#send(this.#page(path), request, 'no-cache')
  }

  #page(path: string): Built {
    const page = this.#files.get('index.html')?.bytes.toString()
    if (page === undefined) return built('index.html', Buffer.from(MISSING))
    const up = '../'.repeat(path.split('/').length - 2) || './'
    return built('index.html', Buffer.from(page.replaceAll('"./assets/', `"${up}assets/`)))
  }

  /** A checkout is not started anew when it was built anew. */
  #read(): ReadonlyMap<string, Built> {
    const builtAtMs = statSync(`${this.#folder}index.html`, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (builtAtMs === this.#builtAtMs) return this.#files
    this.#builtAtMs = builtAtMs
    this.#files = new Map(
      filesIn(this.#folder).map((name) => [name, built(name, readFileSync(this.#folder + name))]),
    )
    return this.#files
  }

  async #send(file: Built, request: Request, caching: string): Promise<Response> {
    const encoding = encodingFor(request)
    const body = encoding === null ? file.bytes : await this.#compressed(file, encoding)
    const headers = { 'content-type': file.type, 'cache-control': caching, vary: 'accept-encoding' }
    return new Response(request.method === 'HEAD' ? null : body, {
      headers: { ...headers, ...(encoding === null ? {} : { 'content-encoding': encoding }) },
    })
  }

  #compressed(file: Built, encoding: Encoding): Promise<Buffer<ArrayBuffer>> {
    file.compressed[encoding] ??= encoders[encoding](file.bytes) as Promise<Buffer<ArrayBuffer>>
    return file.compressed[encoding]
  }
}

function built(name: string, bytes: Buffer): Built {
  const type = TYPES[extname(name)] ?? 'application/octet-stream'
  return { type, bytes: bytes as Buffer<ArrayBuffer>, compressed: {} }
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(folder.length).replace(/^\/+/, ''))
}

function encodingFor(request: Request): Encoding | null {
  const accepted = request.headers.get('accept-encoding') ?? ''
  if (/\bbr\b/.test(accepted)) return 'br'
  return /\bgzip\b/.test(accepted) ? 'gzip' : null
}
