/** A unified diff as colored lines. It is light enough for every edit of a conversation. */
import { memo } from 'react'

const shownMax = 400

const looks = { '+': 'bg-good-soft text-good', '-': 'bg-bad-soft text-bad', '@': 'text-faint' } as const
const plain = 'text-dim'

/** The lines of the hunks, without the headers that name the file. */
function linesOf(diff: string): string[] {
  const lines = diff.trimEnd().split('\n')
  const begin = lines.findIndex((line) => line.startsWith('@@'))
  return begin === -1 ? [] : lines.slice(begin)
}

export function countLines(diff: string): { additions: number; deletions: number } {
  const lines = linesOf(diff)
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
  return { additions: count('+'), deletions: count('-') }
}

export const DiffLines = memo(function DiffLines({ diff, label }: { diff: string; label: string }) {
  const lines = linesOf(diff)
  const hidden = lines.length - shownMax
  if (lines.length === 0) return <p className="px-3 py-2 text-sm text-dim">No lines to show.</p>
  return (
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      className="max-h-120 overflow-auto py-1 font-mono text-xs/5 whitespace-pre"
    >
      <div className="w-max min-w-full">
        {lines.slice(0, shownMax).map((line, at) => (
          <div key={at} className={`px-3 ${looks[line[0] as keyof typeof looks] ?? plain}`}>
            {line === '' ? ' ' : line}
          </div>
        ))}
        {hidden > 0 && (
          <div className="px-3 text-faint">
            {hidden} more {hidden === 1 ? 'line' : 'lines'}
          </div>
        )}
      </div>
    </div>
  )
})
