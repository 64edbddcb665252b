/** Names the type of a binary file by the end of its name. */
import { sizeText } from '@svc/contract/schemas/quotas'

const images = 'png jpg jpeg gif webp avif bmp ico tiff heic psd'
const types: Record<string, string> = {
  ...Object.fromEntries(images.split(' ').map((end) => [end, `${end === 'jpg' ? 'JPEG' : end.toUpperCase()} image`])),
  svg: 'SVG image',
  ...{ pdf: 'PDF document', doc: 'Word document', docx: 'Word document', xls: 'Spreadsheet', xlsx: 'Spreadsheet' },
  ...{ ppt: 'Presentation', pptx: 'Presentation', odt: 'Document', ods: 'Spreadsheet' },
  ...{ woff: 'WOFF font', woff2: 'WOFF2 font', ttf: 'TrueType font', otf: 'OpenType font', eot: 'EOT font' },
  ...{ zip: 'ZIP archive', gz: 'Gzip archive', tgz: 'Gzip archive', xz: 'XZ archive', zst: 'Zstandard archive' },
  ...{ bz2: 'Bzip2 archive', tar: 'Tar archive', '7z': '7-Zip archive', jar: 'Java archive' },
  ...{ mp3: 'MP3 audio', wav: 'WAV audio', ogg: 'Ogg audio', flac: 'FLAC audio', m4a: 'AAC audio' },
  ...{ mp4: 'MP4 video', mov: 'QuickTime video', webm: 'WebM video', avi: 'AVI video' },
  ...{ wasm: 'WebAssembly module', so: 'Shared library', dll: 'Windows library', exe: 'Windows program' },
  ...{ class: 'Java class', pyc: 'Python bytecode', o: 'Object file', a: 'Static library' },
  ...{ sqlite: 'SQLite database', db: 'Database', parquet: 'Parquet data', npy: 'NumPy array', lockb: 'Lock file' },
}

export function fileType(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const end = name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : ''
  return types[end] ?? 'Binary file'
}

/** "1.2 KiB → 3.4 KiB (+183 %)", as far as it is known. */
export function sizeChange(before: number | null, after: number | null): string {
  if (before === null || after === null) {
    const size = before ?? after
    return size === null ? '' : sizeText(size)
  }
  if (before === after) return `${sizeText(after)}, same size`
  const percent = before === 0 ? null : Math.round((100 * (after - before)) / before)
  const change = percent === null ? '' : ` (${percent < 0 ? '−' : '+'}${Math.abs(percent)} %)`
  return `${sizeText(before)} → ${sizeText(after)}${change}`
}
