/** The built pages and the built docs site, each in one file. A pack is read at the first request and kept. */
import { gunzipSync } from 'node:zlib'

export interface PageFile {
  type: string
  gzip: Buffer
  plain: () => Buffer
}

type PageFiles = Map<string, PageFile>

/** The path of a pack must be a literal, or the build would not carry the file. */
const packs = {
  dashboard: () => import('../../../../dist/dashboard.pack', { with: { type: 'file' } }),
  docs: () => import('../../../../dist/docs.pack', { with: { type: 'file' } }),
}

const reading = new Map<keyof typeof packs, Promise<PageFiles | null>>()

/** Null when this server runs from source and the pack was not built. */
export function pageFiles(name: keyof typeof packs): Promise<PageFiles | null> {
  const found = reading.get(name) ?? read(name)
  reading.set(name, found)
  return found
}

async function read(name: keyof typeof packs): Promise<PageFiles | null> {
  let text: string
  try {
    const { default: path } = await packs[name]()
    text = await Bun.file(path).text()
  } catch {
    return notBuiltYet(name)
  }
  const files = JSON.parse(text) as Record<string, { type: string; gzip: string }>
  return new Map(
    Object.entries(files).map(([path, { type, gzip }]) => {
      const packed = Buffer.from(gzip, 'base64')
      return [path, { type, gzip: packed, plain: () => gunzipSync(packed) }]
    }),
  )
}

/** Only when the server runs from source, because a build without the pack fails. The next request tries again. */
function notBuiltYet(name: keyof typeof packs): null {
  reading.delete(name)
  return null
}
