const squares = 5

/** The size of a change: its lines, and the share of additions and deletions as five squares. */
export function Stat({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="inline-flex items-center gap-1">
      <Lines additions={additions} deletions={deletions} />
      <span aria-hidden className="inline-flex gap-0.5">
        {squaresOf(additions, deletions).map((look, at) => (
          <i key={at} className={`size-1.75 rounded-[2px] ${look}`} />
        ))}
      </span>
    </span>
  )
}

export function Lines({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="inline-flex items-center gap-1 text-xs font-semibold whitespace-nowrap tabular-nums">
      <span className="text-good">+{additions}</span>
      <span className="text-bad">−{deletions}</span>
    </span>
  )
}

/** A small change does not fill the squares. Each kind that is present has one. */
function squaresOf(additions: number, deletions: number): string[] {
  const total = additions + deletions
  const filled = Math.min(squares, total)
  const share = total === 0 ? 0 : Math.round((filled * additions) / total)
  const least = additions > 0 ? 1 : 0
  const most = deletions > 0 ? filled - 1 : filled
  const added = Math.max(Math.min(share, most), Math.min(least, filled))
  return Array.from({ length: squares }, (_, at) =>
    at < added ? 'bg-good-fill' : at < filled ? 'bg-bad-fill' : 'bg-edge',
  )
}
