/** Reads `svc.toml`. Agents edit this file, so a mistake is an issue with a position, never a crash, and the rest stays in force. */
import { parse, TomlError } from 'smol-toml'
import { type Path, readTable, type Report, type Shaped } from './fields.ts'
import { locate, positionAt, type Located } from './locate.ts'
import { manifestShape } from './shape.ts'

export {
  type ConnectorAuth,
  defaultConfigDir,
  type ManifestApp,
  type ManifestChannel,
  type ManifestCheck,
  type ManifestConnector,
  type ManifestTrigger,
} from './shape.ts'

export const manifestPath = 'svc.toml'
export const manifestBytesMax = 256 * 1024
const issuesMax = 200

export interface ManifestIssue {
  /** Keys and positions joined by dots: `triggers.0.cron`. Empty for the whole file. */
  path: string
  message: string
  severity: 'error' | 'warning'
  /** Both count from 1. Null when the issue has no position. */
  line: number | null
  column: number | null
}

export type Manifest = Shaped<typeof manifestShape>

export function parseManifest(raw: string): { manifest: Manifest; issues: ManifestIssue[] } {
  const refuse = (message: string, line: number | null = null, column: number | null = null) => ({
    manifest: emptyManifest,
    issues: [{ path: '', message, severity: 'error' as const, line, column }],
  })
  if (new TextEncoder().encode(raw).length > manifestBytesMax) return refuse('is larger than 256 KiB')
  const text = raw.replace(/^\u{feff}/u, '')
  let document: Record<string, unknown>
  try {
    document = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const said = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
    return refuse(`is not TOML: ${said}`, error.line, error.column)
  }
  const found: Found[] = []
  const manifest = readTable(manifestShape, document, [], reportTo(found))
  return { manifest, issues: placed(text, found) }
}

export const emptyManifest: Manifest = readTable(manifestShape, {}, [], reportTo([]))

interface Found {
  path: Path
  message: string
  severity: 'error' | 'warning'
  place: 'value' | 'key'
}

function reportTo(found: Found[]): Report {
  let errors = 0
  const report = (path: Path, message: string, options: Partial<Pick<Found, 'severity' | 'place'>> = {}) => {
    const { severity = 'error', place = 'value' } = options
    if (severity === 'error') errors++
    if (found.length < issuesMax) found.push({ path, message, severity, place })
    else if (found.length === issuesMax)
      found.push({ path: [], message: 'has more issues than are shown', severity: 'error', place: 'value' })
  }
  return Object.assign(report, { errors: () => errors })
}

/** In the order of the text. */
function placed(text: string, found: Found[]): ManifestIssue[] {
  if (found.length === 0) return []
  const places = locate(text)
  const offsets = found.map((issue) => ({ issue, offset: offsetOf(places, issue) }))
  return offsets
    .sort((a, b) => (a.offset ?? 0) - (b.offset ?? 0))
    .map(({ issue, offset }) => ({
      path: issue.path.map((key) => String(key).slice(0, 80)).join('.'),
      message: issue.message,
      severity: issue.severity,
      ...(offset === null ? { line: null, column: null } : positionAt(text, offset)),
    }))
}

/** A missing key has no position, so use the table that lacks it. */
function offsetOf(places: Located, { path, place }: Found): number | null {
  const own = places.get(path)
  if (own !== null) return place === 'key' ? own.key : own.value
  for (let length = path.length - 1; length > 0; length--) {
    const above = places.get(path.slice(0, length))
    if (above !== null) return above.key
  }
  return null
}

export function hasErrors(issues: readonly ManifestIssue[]): boolean {
  return issues.some((issue) => issue.severity === 'error')
}
