/** The pages as `npm run build` packed them: read once, at the first request, and kept. */
import { gunzipSync } from 'node:zlib'

export interface PageFile {
  type: string
  gzip: Buffer
  plain: () => Buffer
}

let reading: Promise<Map<string, PageFile> | null> | null = null

/** Null when this server runs from source and the pages were not built. */
export function pageFiles(): Promise<Map<string, PageFile> | null> {
  reading ??= read()
  return reading
}

async function read(): Promise<Map<string, PageFile> | null> {
  let text: string
  try {
    const { default: path } = await import('../../../../dist/dashboard.pack', { with: { type: 'file' } })
    text = await Bun.file(path).text()
  } catch {
    // Only from source: a build without the pack fails.
    reading = null
    return null
  }
  const files = JSON.parse(text) as Record<string, { type: string; gzip: string }>
  return new Map(
    Object.entries(files).map(([path, { type, gzip }]) => {
      const packed = Buffer.from(gzip, 'base64')
      return [path, { type, gzip: packed, plain: () => gunzipSync(packed) }]
    }),
  )
}
