import { ChangeRequestLink } from '../../../components/links.tsx'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { LandingBadge } from '../../../components/status.tsx'
import { Avatar } from '../../../ui/avatar.tsx'
import { Stat } from '../../../ui/stat.tsx'
import { Time } from '../../../ui/text.tsx'
import type { ChangeRequest, Summary } from '../queries.ts'
import { whyOf } from './why.ts'

/** The state first, then the title and why; size, author, and time at the right. The link covers the row. */
export function ListRow({
  cr,
  summary,
  slug,
  isSelected,
  onSelect,
}: {
  cr: ChangeRequest
  summary: Summary | undefined
  slug: string
  isSelected: boolean
  onSelect: (isSelected: boolean) => void
}) {
  const { default_branch: defaultBranch } = useProject()
  const why = whyOf(cr, summary, defaultBranch)
  return (
    <div
      className={`relative grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-b border-line px-4 py-row focus-within:bg-hover hover:bg-hover lg:grid-cols-[auto_8.5rem_minmax(0,1fr)_auto] md:px-6 ${isSelected ? 'bg-selected!' : ''}`}
    >
      <input
        type="checkbox"
        aria-label={`Select #${cr.number}`}
        className="relative z-1 size-3.5 accent-accent-fill"
        checked={isSelected}
        onChange={({ target }) => onSelect(target.checked)}
      />
      <span className="max-lg:order-last max-lg:col-span-2 max-lg:col-start-2">
        <LandingBadge cr={cr} state={summary?.state ?? null} />
      </span>
      <div className="min-w-0">
        <ChangeRequestLink
          project={slug}
          number={cr.number}
          className="line-clamp-2 font-medium after:absolute after:inset-0 lg:line-clamp-1"
          title={`${cr.title}\n${why}`}
        >
          {cr.title} <span className="font-normal text-faint">#{cr.number}</span>
        </ChangeRequestLink>
        <p className="line-clamp-2 text-sm text-dim">{why}</p>
      </div>
      <span className="flex items-center gap-3">
        <span className="max-lg:hidden">
          {summary?.additions != null && summary.deletions != null && (
            <Stat additions={summary.additions} deletions={summary.deletions} />
          )}
        </span>
        <Author summary={summary} />
        <span className="min-w-24 text-right max-lg:hidden">
          <Time at={cr.updated_at} />
        </span>
      </span>
    </div>
  )
}

function Author({ summary }: { summary: Summary | undefined }) {
  if (summary?.session != null) return <Avatar name={summary.session.name} of="agent" />
  if (summary?.author != null) return <Avatar name={summary.author} />
  return <span className="size-5" />
}
